"""Tests of sources wait for nothing but what they are about."""

import pytest


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between tries."""
    monkeypatch.setattr("arriero_runtime.sources.transfer._PAUSES_SECONDS", (0.01, 0.02))
    monkeypatch.setattr("arriero_runtime.sources.hub._PAUSES_SECONDS", (0.01, 0.02))
