"""Parameters that the engine takes and ignores, though the answer then is not what was asked for. They are refused."""

from typing import Any, Final

from arriero_runtime.server.answers import INVALID, Refusal

_GUIDED: Final = {
    "guided_json": '"structured_outputs": {"json": …} or "response_format"',
    "guided_regex": '"structured_outputs": {"regex": …}',
    "guided_choice": '"structured_outputs": {"choice": […]}',
    "guided_grammar": '"structured_outputs": {"grammar": …}',
    "guided_decoding_backend": "--structured-outputs-config in spec.engine.args",
    "guided_whitespace_pattern": '"structured_outputs": {"whitespace_pattern": …}',
}
"""Parameter → what to use in its place."""
_BEST_OF: Final = {"best_of": '"n", and choose among the answers'}
_IGNORED: Final[dict[str, dict[str, str]]] = {
    "/v1/chat/completions": {
        **_GUIDED,
        **_BEST_OF,
        "functions": '"tools"',
        "function_call": '"tool_choice"',
        "max_new_tokens": '"max_completion_tokens"',
        "enable_thinking": '"chat_template_kwargs": {"enable_thinking": …}',
    },
    "/v1/completions": {**_GUIDED, **_BEST_OF, "max_new_tokens": '"max_tokens"'},
    "/v1/responses": {
        **_GUIDED,
        "guided_json": '"text": {"format": {"type": "json_schema", …}}',
        "response_format": '"text": {"format": …}',
        "max_tokens": '"max_output_tokens"',
        "max_completion_tokens": '"max_output_tokens"',
    },
}
"""Path of the OpenAI API → parameter → what to use in its place."""
_HARMLESS: Final = {"best_of": (1,), "functions": ([],), "function_call": ("none",)}
"""Values that ask for nothing but what happens anyway."""


def refusal(path: str, request: dict[str, Any]) -> Refusal | None:
    """For the first parameter of the request that would be ignored, with what to use in its place."""
    for name, instead in _IGNORED.get(path, {}).items():
        value = request.get(name)
        if value is not None and value not in _HARMLESS.get(name, ()):
            words = f"The parameter '{name}' is not supported and would have no effect; use {instead} in its place."
            return Refusal(400, INVALID, words, extra={"param": name})
    return None
