"""The operator's series are told where users look for them."""

from pathlib import Path

from arriero_operator.process import metrics
from arriero_operator.process.metrics import Metric

DOC = Path(__file__).parents[3] / "docs" / "metrics.md"
CATALOGUE = [one for one in vars(metrics).values() if isinstance(one, Metric)]


def test_the_documentation_names_each_series_with_its_labels() -> None:
    assert len(CATALOGUE) > 10
    text = DOC.read_text()
    for one in CATALOGUE:
        assert f"| `{one.name}` | {', '.join(one.labels)} | {one.text} |" in text
