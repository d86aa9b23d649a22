"""Act 3, second half: a model is deleted while it answers; the answer ends in full, then everything is gone."""

import time
from collections.abc import Iterator

from tests.cluster.waiting import until
from tests.demo import output
from tests.demo.acts.mend import NAME
from tests.demo.client import NAMESPACE, url
from tests.demo.errors import DemoError
from tests.demo.install import Stage
from tests.demo.tools import Tools
from tests.support.kubectl import Object

TOKENS = 400
_AFTER = 20
_CHILDREN = "deployments,services,controllerrevisions,configmaps,pods"
_GONE_SECONDS = 60
_COLUMNS = "custom-columns=TYPE:.type,REASON:.reason,MESSAGE:.message"


def play(stage: Stage) -> None:
    """Raises DemoError when the open answer is cut, or something of the model is left."""
    tools = stage.tools
    output.tell(f"Now it is deleted while it streams an answer of {TOKENS} tokens.")
    pod = tools.get("pods", "-n", NAMESPACE, "-l", f"arriero.dev/model={NAME}")["items"][0]
    with stage.client.calling("stream", url(NAME), NAME, "Tell me a long story about a mule.", str(TOKENS)) as lines:
        text = _pieces(lines, _AFTER)
        begin = time.monotonic()
        tools.show("kubectl", "delete", "im", NAME, "-n", NAMESPACE)
        _show_drain(stage, pod)
        rest, end = _last(lines)
    seconds = time.monotonic() - begin
    output.quote("says", f"{text}{rest}"[:240] + " …")
    if not end["done"] or end["tokens"] != TOKENS:
        raise DemoError(f"the open answer was cut: {end['tokens']} of {TOKENS} tokens, ended by {end['finish']!r}")
    output.good(f"the answer went on for {seconds:.0f} s after the delete and ended in full: {end['tokens']} tokens")
    _await_gone(tools)
    tools.show(
        "kubectl", "get", "events", "-n", NAMESPACE, "--sort-by=.lastTimestamp", "-o", _COLUMNS,
        f"--field-selector=involvedObject.kind=InferenceModel,involvedObject.name={NAME}",
    )  # fmt: skip


def _pieces(lines: Iterator[Object], count: int) -> str:
    text = ""
    for _ in range(count):
        line = next(lines)
        if "text" not in line:
            raise DemoError(f"the answer ended after a few tokens: {line}")
        text += line["text"]
    return text


def _show_drain(stage: Stage, pod: Object) -> None:
    """What the runtime of the deleted pod says of itself, a moment later."""
    address = pod["status"]["podIP"]
    seen: Object = {}

    def draining() -> bool:
        seen.update(stage.client.call("status", f"http://{address}:8081/status"))
        return bool(seen["phase"] == "Draining")

    until(draining, 10, "the pod drains", every=0.2)
    output.result(f"pod {pod['metadata']['name']}: {seen['phase']}, {seen['requestsInFlight']} request in flight")


def _last(lines: Iterator[Object]) -> tuple[str, Object]:
    text = ""
    for line in lines:
        if "text" not in line:
            return text, line
        text += line["text"]
    raise DemoError("the open answer was cut without an end")


def _await_gone(tools: Tools) -> None:
    selector = f"arriero.dev/model={NAME}"
    begin = time.monotonic()

    def gone() -> bool:
        return not tools.get(_CHILDREN, "-n", NAMESPACE, "-l", selector)["items"]

    until(gone, _GONE_SECONDS, "the model's children are gone", every=0.5)
    output.command(f"kubectl get {_CHILDREN} -n {NAMESPACE} -l {selector}")
    output.result("No resources found")
    output.good(f"then the pod ended and nothing is left of it ({time.monotonic() - begin:.0f} s later)")
