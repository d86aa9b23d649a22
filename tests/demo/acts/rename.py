"""Act 2: a further name, while the model serves."""

import json
import time

from tests.demo import output
from tests.demo.acts.serve import ask
from tests.demo.client import NAMESPACE, url
from tests.demo.errors import DemoError
from tests.demo.install import Stage
from tests.demo.models import pods

ALIAS = "chat"
WITHIN_SECONDS = 2.0
_PATIENCE_SECONDS = 30


def play(stage: Stage) -> None:
    """Raises DemoError when the name is not answered in time, or a pod was replaced or restarted for it."""
    tools = stage.tools
    output.heading("Act 2: give it another name, while it serves")
    before = pods(tools, "smollm2")
    output.tell(f"The pod already calls the model as {ALIAS!r}, again and again, and is refused.")
    with stage.client.calling("until-served", url("smollm2"), ALIAS, str(_PATIENCE_SECONDS)) as lines:
        if "trying" not in next(lines):
            raise DemoError(f"{ALIAS!r} is served before anybody asked for it")
        begin = time.time()
        patch = json.dumps({"spec": {"model": {"aliases": [ALIAS]}}})
        tools.show("kubectl", "patch", "im", "smollm2", "-n", NAMESPACE, "--type=merge", "-p", patch)
        seconds = next(lines)["at"] - begin
    output.good(f"answered by its new name {seconds:.1f} s after the patch began")
    if seconds > WITHIN_SECONDS:
        raise DemoError(f"the new name took {seconds:.1f} s, more than the promised {WITHIN_SECONDS:.0f} s")
    after = pods(tools, "smollm2")
    if after != before:
        raise DemoError(f"the pods are not the same any more: {before} became {after}")
    for uid, restarts in after.items():
        output.good(f"the same pod: uid {uid}, {restarts} restarts")
    ask(stage, "smollm2", ALIAS)
