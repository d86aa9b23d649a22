"""No secret leaves in a message: tokens, keys and the like are replaced by `[hidden]`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from arriero_api.contract import Failure

HIDDEN: Final = "[hidden]"

_MARK: Final = re.escape(HIDDEN)
_ORDINARY_NAME: Final = (
    r"(?:[\w-]*[_-])?"
    r"(?:bos|eos|pad|unk|cls|sep|mask|bot|eot|image|audio|video|start|end|stop"
    r"|max|min|num|per|first|last|input|output|batched)[_-]?token(?![\w-])"
)
"""Names of the special tokens of a tokenizer, and of counts of tokens."""
_VALUE: Final = rf"(?:{_MARK}|(?!{_MARK})[^\s'\",}}\])])+(?<![.…])"
_RULES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(?<=://)[^/@\s'\"]+@", f"{HIDDEN}@"),  # user and password of an address
        (r"(?<=[\w/])\?[^\s'\"<>]*=[^\s'\"<>]*", f"?{HIDDEN}"),  # signed addresses carry their key in the query
        (r"\b(bearer|basic)\s+[\w.~+/=-]+(?<!\.)", rf"\1 {HIDDEN}"),
        (r"\b(hf|api_org)_[A-Za-z0-9]{8,}", HIDDEN),
        (r"\bsk-[A-Za-z0-9_-]{8,}", HIDDEN),
        (
            rf"(?<![\w-])(?!{_ORDINARY_NAME})"
            r"([\w-]*(?:token|password|passwd|secret|api[_-]?key|access[_-]?key|authorization))"
            rf"(['\"]?\s*[=:]\s*)(?!\s*(?:none|true|false|null)\b)(['\"]?){_VALUE}",
            rf"\1\2\3{HIDDEN}",
        ),
    )
)
_SECRET_NAME: Final = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|CREDENTIALS?)$", re.IGNORECASE)
SHORTEST: Final = 6
"""Shorter values of secret variables are left alone: they would blank out ordinary words."""


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """The values in `environment` whose names say that they are secret."""
    return frozenset(v for name, v in environment.items() if _SECRET_NAME.search(name) and len(v) >= SHORTEST)


def scrubbed(failure: Failure, secrets: frozenset[str]) -> Failure:
    """`failure` with message, remedy and details scrubbed."""
    return replace(
        failure,
        message=scrub(failure.message, secrets),
        remedy=scrub(failure.remedy, secrets),
        details={key: scrub(v, secrets) if isinstance(v, str) else v for key, v in failure.details.items()},
    )


def scrub(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """`text` without `secrets` and without what looks like one. Scrubbed again, it stays the same."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = HIDDEN.join(part.replace(secret, HIDDEN) for part in text.split(HIDDEN))
    # What one rule hides may let an earlier one match. Every change leaves less that is not hidden: this ends.
    while (hidden := _hidden(text)) != text:
        text = hidden
    return text


def _hidden(text: str) -> str:
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
