"""No secret leaves in a message: tokens, keys and the like are replaced by `[hidden]`."""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from arriero_api.contract import Failure

HIDDEN: Final = "[hidden]"

_RULES: Final = tuple(
    (re.compile(pattern, re.IGNORECASE), replacement)
    for pattern, replacement in (
        (r"(?<=://)[^/@\s'\"]+@", f"{HIDDEN}@"),  # user and password of an address
        (r"(?<=[\w/])\?[^\s'\"<>]*=[^\s'\"<>]*", f"?{HIDDEN}"),  # signed addresses carry their key in the query
        (r"\b(bearer|basic)\s+[\w.~+/=-]+", rf"\1 {HIDDEN}"),
        (r"\b(hf|api_org)_[A-Za-z0-9]{8,}", HIDDEN),
        (r"\bsk-[A-Za-z0-9_-]{8,}", HIDDEN),
        (
            r"\b([\w-]*(?:token|password|passwd|secret|api[_-]?key|access[_-]?key|authorization))"
            r"(['\"]?\s*[=:]\s*)(?!\s*(?:none|true|false|null)\b)(['\"]?)[^\s'\",}\])]+",
            rf"\1\2\3{HIDDEN}",
        ),
    )
)
_SECRET_NAME: Final = re.compile(r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|CREDENTIALS?)$", re.IGNORECASE)
_SHORTEST: Final = 6
"""Shorter values of secret variables are left alone: they would blank out ordinary words."""


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """The values in `environment` whose names say that they are secret."""
    return frozenset(v for name, v in environment.items() if _SECRET_NAME.search(name) and len(v) >= _SHORTEST)


def scrubbed(failure: Failure, secrets: frozenset[str]) -> Failure:
    """`failure` with message, remedy and details scrubbed."""
    return replace(
        failure,
        message=scrub(failure.message, secrets),
        remedy=scrub(failure.remedy, secrets),
        details={key: scrub(v, secrets) if isinstance(v, str) else v for key, v in failure.details.items()},
    )


def scrub(text: str, secrets: frozenset[str] = frozenset()) -> str:
    """`text` without `secrets` and without what looks like one."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text
