"""What is remembered from one start of the container to the next: a failure that a retry cannot mend, and how many
starts there were."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from arriero_api.contract import Failure
from arriero_api.reasons import REASONS

FILE: Final = "failure.json"
STARTS: Final = "starts"
_ENVIRONMENT: Final = ("HF_", "VLLM_", "HUGGING_FACE_")


def inputs_hash(argv: Sequence[str], environment: Mapping[str, str], version: str) -> str:
    """Stands for all that decides whether a start fails the same way again. Names that are registered do not."""
    relevant = sorted((k, v) for k, v in environment.items() if k.startswith(_ENVIRONMENT))
    return hashlib.sha256(json.dumps([version, list(argv), relevant]).encode()).hexdigest()


def restarts(folder: Path) -> int:
    """How often a container of this pod was started before this one; counts it. 0 where that cannot be written."""
    file = folder / STARTS
    try:
        before = int(file.read_text())
    except (OSError, ValueError):
        before = 0
    try:
        file.write_text(str(before + 1))
    except OSError:
        return 0
    return before


class Memory:
    """A small file in `folder`, which lives as long as the pod. Where it cannot be written, nothing is remembered."""

    def __init__(self, folder: Path, inputs: str) -> None:
        self._file = folder / FILE
        self._inputs = inputs

    def seen(self, failure: Failure) -> int:
        """How often this failure has come before with the same inputs, this time not counted; counts it.

        Failures that a retry may mend always count as new.
        """
        known = REASONS.get(failure.reason)
        if known is None or not known.permanent:
            self.forget()
            return 0
        before = self._read(failure.reason)
        try:
            self._file.write_text(json.dumps({"inputs": self._inputs, "reason": failure.reason, "count": before + 1}))
        except OSError:
            return 0
        return before

    def _read(self, reason: str) -> int:
        try:
            body = json.loads(self._file.read_text())
            same = body["inputs"] == self._inputs and body["reason"] == reason
            return int(body["count"]) if same else 0
        except (OSError, ValueError, KeyError, TypeError):
            return 0

    def forget(self) -> None:
        """After a start that succeeded."""
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return


def wait_seconds(seen: int, first: float, longest: float) -> float:
    """How long to wait before the container ends and is tried anew: nothing the first time, then doubling."""
    return 0.0 if seen < 1 else min(first * 2.0 ** min(seen - 1, 30), longest)


def asked_seconds(failure: Failure, longest: float) -> float:
    """How long the source of a failure asks to wait before it is asked again, as far as that is bearable; 0 where it
    asks for nothing."""
    asked = failure.details.get("retryAfterSeconds", 0)
    # Bounded first: there are numbers that are too large for a float.
    return float(min(asked, longest)) if isinstance(asked, int) and asked > 0 else 0.0
