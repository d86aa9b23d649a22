"""docs/provider-defects.md: no row without a test that is there, or a reason."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "provider-defects.md"
COUNTS = {"A": 21, "B": 12, "C": 15, "D": 29, "E": 18, "F": 18, "G": 14, "H": 12, "S": 6}
ROWS = re.findall(r"^\| ([A-Z]\d+) \| (.+?) \| (.*) \|$", PAGE.read_text(), re.MULTILINE)


def test_every_fault_has_one_row_in_order() -> None:
    wanted = [f"{letter}{number}" for letter, count in COUNTS.items() for number in range(1, count + 1)]
    assert [name for name, _, _ in ROWS] == wanted


def test_what_shows_it_is_there() -> None:
    known: dict[str, set[str]] = {}
    for name, _, here in ROWS:
        tests = re.findall(r"`([\w/.]+\.py)::(test_\w+)`", here)
        assert tests or len(here.split()) > 3, f"{name} has neither test nor reason"
        for path, test in tests:
            if path not in known:
                known[path] = set(re.findall(r"def (test_\w+)", (TESTS / path).read_text()))
            assert test in known[path], f"{name}: {path} has no {test}"
