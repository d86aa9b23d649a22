"""The page of engine failures has a row for each case, with its reason."""

import re
from pathlib import Path

from tests.cluster.images.paths import CHECKOUT
from tests.engine_failures.cases import STARTS

PAGE = CHECKOUT / "docs" / "engine-failures.md"


def test_every_case_of_a_start_has_a_row_with_its_reason() -> None:
    rows = dict(re.findall(r"^\| ([a-z][\w-]+) \| (\w+) \|", PAGE.read_text(), re.MULTILINE))
    assert {case.name: case.reason or "serves" for case in STARTS} == {n: r for n, r in rows.items() if n != "case"}


def test_every_recording_has_a_case_or_a_row() -> None:
    page = PAGE.read_text()
    recordings = Path(__file__).parent / "recordings"
    assert not [folder.name for folder in recordings.iterdir() if folder.name not in page]
