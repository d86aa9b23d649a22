"""The catalogue of reasons is closed, and every fault in it says what to do."""

import re
from pathlib import Path

from arriero_api.reasons import REASONS


def test_every_reason_is_camel_case_and_explained() -> None:
    for reason in REASONS.values():
        assert re.fullmatch(r"([A-Z][a-z]*)+", reason.name.replace("OOM", "Oom"))
        assert reason.meaning.endswith(".")


def test_every_permanent_failure_has_a_remedy() -> None:
    assert all(reason.remedy for reason in REASONS.values() if reason.permanent)


def test_every_reason_is_given_by_the_operator_or_the_runtime() -> None:
    root = Path(__file__).parents[2]
    sources = [path for part in ("operator", "runtime") for path in (root / part).rglob("*.py")]
    text = "\n".join(path.read_text() for path in sources)
    assert not [name for name in REASONS if f'"{name}"' not in text]


def test_no_remedy_speaks_of_the_message_that_it_is_part_of() -> None:
    assert not [name for name, reason in REASONS.items() if "message" in reason.remedy]
