"""How long a source asks to wait, whatever it writes for that."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from arriero_api.contract import Phase
from arriero_runtime.sources import http_errors

YEAR = 366 * 24 * 3600


def asked(header: str) -> str | int | None:
    where = http_errors.Where("org/model", "hub.test", Phase.RESOLVING)
    failure = http_errors.status(429, {"Retry-After": header}, where).failure
    assert failure.reason == "SourceRateLimited"
    return failure.details.get("retryAfterSeconds")


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("40", 40),
        (" 40 ", 40),
        ("0", 0),
        ("0000000000000040", 40),
        ("9" * 10, YEAR),
        ("9" * 310, YEAR),
        ("9" * 5000, YEAR),
        ("Fri, 31 Dec 9999 23:59:59 GMT", YEAR),
        ("Fri, 31 Dec 9999 23:59:59 -2359", YEAR),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_wait_is_told_up_to_a_year(header: str, seconds: int) -> None:
    assert asked(header) == seconds


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "soon",
        "-5",
        "1.5",
        "\u00b2",
        "\u0664\u0660",
        "Fri, 31 Dec 99999999999999999999 23:59:59 GMT",
        "Fri, 31 Dec 2100 23:59:59 +99999999999999999999",
    ],
)
def test_what_is_neither_a_number_nor_a_date_asks_for_nothing(odd: str) -> None:
    assert asked(odd) is None


def test_a_date_is_a_wait_until_then() -> None:
    seconds = asked(format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True))
    assert isinstance(seconds, int)
    assert 90 <= seconds <= 100
