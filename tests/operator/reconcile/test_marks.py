"""Whether what was said of a child is in force: the API server writes amounts in its own way, and nothing else."""

from typing import Any

import pytest

from arriero_operator.applying.marks import covers


def container(*args: str, **env: str) -> dict[str, Any]:
    """A pod's spec with one container."""
    listed = [{"name": name, "value": value} for name, value in env.items()]
    return {"containers": [{"name": "runtime", "args": list(args), "env": listed}]}


@pytest.mark.parametrize(
    ("live", "said"),
    [
        ({"resources": {"limits": {"memory": "8Gi"}}}, {"resources": {"limits": {"memory": "8192Mi"}}}),
        ({"resources": {"requests": {"cpu": "500m"}}}, {"resources": {"requests": {"cpu": 0.5}}}),
        ({"volumes": [{"emptyDir": {"sizeLimit": "1Gi"}}]}, {"volumes": [{"emptyDir": {"sizeLimit": "1024Mi"}}]}),
        ({"containers": [{"name": "a", "resources": {}}, {"name": "b", "resources": {"limits": {"cpu": "1"}}}]},) * 2,
    ],
    ids=["memory", "a part of a processor", "the size of a volume", "the same"],
)
def test_an_amount_may_be_written_in_another_way(live: Any, said: Any) -> None:
    assert covers(live, said)


@pytest.mark.parametrize(
    ("live", "said"),
    [
        (container("--max-model-len", "4Ki"), container("--max-model-len", "4096")),
        (container(LEVEL="1.0"), container(LEVEL="1")),
        ({"metadata": {"labels": {"size": "1k"}}}, {"metadata": {"labels": {"size": "1000"}}}),
        ({"resources": {"limits": {"memory": "8G"}}}, {"resources": {"limits": {"memory": "8Gi"}}}),
    ],
    ids=["an argument", "a variable", "a label", "another amount"],
)
def test_another_text_is_another_text(live: Any, said: Any) -> None:
    assert not covers(live, said)
