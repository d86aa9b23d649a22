"""Act 3, first half: a misspelt model says what is wrong with it, and is mended."""

import json

from tests.demo import output
from tests.demo.acts.serve import ask
from tests.demo.client import NAMESPACE
from tests.demo.errors import DemoError
from tests.demo.hub import REPOSITORY
from tests.demo.install import Stage
from tests.demo.models import State, ready, watch
from tests.demo.tools import CHECKOUT

NAME = "storyteller"
MISSPELT = REPOSITORY.replace("Instruct", "Instuct")
_FAILURE_SECONDS = 180
_SECONDS = 480
_MESSAGE = '{.status.conditions[?(@.type=="Ready")].message}{"\\n"}'


def play(stage: Stage) -> None:
    """Raises DemoError when the resource does not tell the mistake, or is not served once it is mended."""
    tools = stage.tools
    output.heading("Act 3: misspell a model, read why it does not serve, mend it, delete it")
    example = (CHECKOUT / "examples" / "smollm2.yaml").read_text()
    manifest = example.replace("name: smollm2", f"name: {NAME}").replace(REPOSITORY, MISSPELT)
    output.command(
        f"sed 's/name: smollm2/name: {NAME}/; s/Instruct/Instuct/' examples/smollm2.yaml | kubectl apply -f -"
    )
    output.result(tools.run("kubectl", "apply", "-n", NAMESPACE, "-f", "-", stdin=manifest))
    watch(tools, NAME, _not_found, _FAILURE_SECONDS)
    tools.show("kubectl", "get", "im", "-n", NAMESPACE)
    message = tools.show("kubectl", "get", "im", NAME, "-n", NAMESPACE, "-o", f"jsonpath={_MESSAGE}")
    if MISSPELT not in message:
        raise DemoError(f"the message does not name {MISSPELT}: {message}")
    output.good("the resource itself says what is wrong and what to do; so do it")
    patch = json.dumps({"spec": {"model": {"uri": f"hf://{REPOSITORY}"}}})
    tools.show("kubectl", "patch", "im", NAME, "-n", NAMESPACE, "--type=merge", "-p", patch)
    watch(tools, NAME, ready, _SECONDS)
    ask(stage, NAME, NAME)


def _not_found(state: State) -> bool:
    if state.ready:
        raise DemoError(f"{NAME} is Ready although its model does not exist")
    return state.reason == "ModelNotFound"
