"""From the engine's log lines to a typed failure. Standard library only: runs inside the supervisor."""

import re
from dataclasses import replace
from typing import Final

from arriero_api.contract import Failure, Phase
from arriero_api.numbers import whole
from arriero_api.scrub import scrubbed
from arriero_runtime import wording
from arriero_runtime.diagnosis.causes import ENGINE, EVERYWHERE, Cause, Causes
from arriero_runtime.diagnosis.kinds import KINDS, Kind

UNKNOWN: Final = "EngineFailed"
_MESSAGE_CHARACTERS: Final = 500

_PYDANTIC: Final = re.compile(r"\d+ validation errors? for (?P<config>\w+)\n(?P<rest>.*)", re.DOTALL)
_FIELD: Final = re.compile(
    r"(?P<field>[a-z]\w*)(?:\.[\w.`-]+)?\n\s+(?P<what>[^\[]+?) \[type=\w+, input_value=(?P<value>.*), input_type="
)
_VALUE_ERROR: Final = re.compile(r"\s*Value error, (?P<text>.*?)(?: \[type=|$)", re.DOTALL)


def make_failure(name: str, message: str, **details: str | int) -> Failure:
    """A failure of the catalogue's reason `name`, with the catalogue's remedy."""
    return Failure(name, shorten(_sentence(wording.fit(message))), wording.remedy(name), Phase.FAILED, details)


def _sentence(message: str) -> str:
    """Ends like one: people read the remedy right after it."""
    text = message.strip()
    return text if not text or text[-1] in ".!?…" else f"{text}."


def shorten(message: str) -> str:
    """One line of at most 500 characters."""
    line = " ".join(message.split())
    return line if len(line) <= _MESSAGE_CHARACTERS else line[: _MESSAGE_CHARACTERS - 1] + "…"


class Diagnosis:
    """Fed with the log line by line; asked once the engine has ended."""

    def __init__(self, secrets: frozenset[str] = frozenset()) -> None:
        self._causes = Causes()
        self._secrets = secrets

    def feed(self, line: str) -> None:
        """One line of the log, without its end."""
        self._causes.feed(line)

    def forget(self) -> None:
        """What comes is of another engine."""
        self._causes = Causes()

    def failure(self, *, engine_only: bool = False) -> Failure | None:
        """Why the engine ended, EngineFailed with the engine's own words where that is not known; None where the log
        tells no error at all.

        `engine_only` leaves the main process out: once it serves, its errors may be those of a client's request.
        """
        cause = self._causes.cause(ENGINE if engine_only else EVERYWHERE)
        if cause is None:
            return None
        found = scrubbed(explain(cause), self._secrets)
        return replace(found, message=shorten(found.message))


def explain(cause: Cause) -> Failure:
    """The failure that `cause` stands for."""
    line = cause.line
    validation = _PYDANTIC.match(cause.text)
    if validation:
        found = _FIELD.match(validation["rest"])
        if found and validation["config"].endswith("Config"):
            return _refused_field(found)
        value_error = _VALUE_ERROR.match(validation["rest"])
        if value_error:
            line = f"ValueError: {value_error['text']}"
    for kind in KINDS:
        matched = kind.pattern.search(line)
        if matched and _agrees(kind, cause):
            return _known(kind, matched)
    return make_failure(UNKNOWN, line)


def _refused_field(found: re.Match[str]) -> Failure:
    argument = "--" + found["field"].replace("_", "-")
    return make_failure("InvalidArguments", f"{argument} {found['value']}: {found['what']}", argument=argument)


def _agrees(kind: Kind, cause: Cause) -> bool:
    if kind.frames and not any(kind.frames.search(frame) for frame in cause.frames):
        return False
    return not kind.earlier or any(kind.earlier.search(line) for line in cause.earlier)


def _known(kind: Kind, matched: re.Match[str]) -> Failure:
    groups = {name: " ".join(text.split()) for name, text in matched.groupdict(default="").items()}
    details: dict[str, str | int] = {}
    for source, key in kind.details.items():
        name, fixed, value = source.partition("=")
        text = value if fixed else groups[name]
        number = whole(text)
        details[key] = text if number is None else number
    found = make_failure(kind.reason, kind.message.format_map(groups), **details)
    return replace(found, remedy=wording.fit(kind.remedy)) if kind.remedy else found
