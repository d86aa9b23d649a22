"""Why an answer ended: one map for all routes."""

from arriero_runtime.native.errors import Refused

END_OF_TURN = "end_of_turn"
END_OF_MESSAGE = "end_of_message"
OUT_OF_TOKENS = "out_of_tokens"
CUT_OFF = "length"
"""The engine's finish_reason for want of room."""


def stop_reason(finish: str | None, stop: int | str | None, *, called: bool, message_ends: frozenset[int]) -> str:
    """`finish` and `stop` are the engine's finish_reason and stop_reason. Raises Refused for what was broken off.

    A lack of room always counts; then a tool call, or a token that ends a message but not the turn.
    """
    if finish == CUT_OFF:
        return OUT_OF_TOKENS
    if finish == "abort":
        raise Refused(503, "The request was ended before its answer was complete.")
    if finish == "error":
        raise Refused(500, "The engine failed while it answered.")
    if called or (isinstance(stop, int) and stop in message_ends):
        return END_OF_MESSAGE
    return END_OF_TURN
