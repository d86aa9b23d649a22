"""Act 1: a resource is applied, its start is watched, and it is asked through its Service."""

from tests.demo import output
from tests.demo.client import NAMESPACE, url
from tests.demo.errors import DemoError
from tests.demo.install import Stage
from tests.demo.models import ready, watch
from tests.demo.tools import CHECKOUT

QUESTION = "What is the capital of France?"
EXAMPLE = "examples/smollm2.yaml"
_SECONDS = 480


def play(stage: Stage) -> None:
    """Raises DemoError when the model does not become Ready or does not know the answer."""
    tools = stage.tools
    output.heading("Act 1: apply a model, watch it start, ask it")
    output.command(f"cat {EXAMPLE}")
    output.result((CHECKOUT / EXAMPLE).read_text())
    tools.show("kubectl", "apply", "-n", NAMESPACE, "-f", EXAMPLE)
    output.command("kubectl get im smollm2 --watch")
    watch(tools, "smollm2", ready, _SECONDS)
    tools.show("kubectl", "get", "im", "-n", NAMESPACE)
    output.command(f"curl {url('smollm2')}   # from a pod, as any OpenAI client would")
    answer = ask(stage, "smollm2", "smollm2")
    if "Paris" not in answer:
        raise DemoError(f"the model does not know the capital of France: it says {answer!r}")
    output.good("a real answer of a real model, through its Service's DNS name")


def ask(stage: Stage, model: str, name: str) -> str:
    """Ask the model by one of its names, show question and answer, and return the answer."""
    answer: str = stage.client.call("ask", url(model), name, QUESTION)["answer"]
    output.quote("model", name)
    output.quote("asked", QUESTION)
    output.quote("says", answer)
    return answer
