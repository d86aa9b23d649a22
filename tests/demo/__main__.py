"""The command line: `python -m tests.demo` plays the demo, `python -m tests.demo down` removes what it left running."""

import argparse
import subprocess
import sys
import time

from tests.cluster import ClusterError
from tests.cluster.cleanup import clean
from tests.cluster.state import CLUSTER, State
from tests.demo import diagnostics, hub, output
from tests.demo.acts import mend, rename, serve, shut_down
from tests.demo.errors import DemoError
from tests.demo.install import Stage, set_up
from tests.demo.tools import Tools


def main() -> int:
    """0 when every act kept its promise; 1 with the reason on standard error when not."""
    parser = argparse.ArgumentParser(prog="python -m tests.demo", description="The main job on a local cluster.")
    parser.add_argument("command", nargs="?", choices=["play", "down"], default="play")
    command = parser.parse_args().command
    try:
        _down() if command == "down" else _play()
    except KeyboardInterrupt:
        output.bad("interrupted; `make demo-down` removes what runs")
        return 130
    except (ClusterError, DemoError, OSError, subprocess.TimeoutExpired) as error:
        output.bad(str(error))
        if command == "play":
            _diagnose()
        return 1
    return 0


def _play() -> None:
    begin = time.monotonic()
    stage = set_up()
    serve.play(stage)
    rename.play(stage)
    mend.play(stage)
    shut_down.play(stage)
    _farewell(stage, time.monotonic() - begin)


def _farewell(stage: Stage, seconds: float) -> None:
    output.heading(f"All three acts kept their promises, in {seconds // 60:.0f} min {seconds % 60:.0f} s")
    output.tell("The cluster and smollm2 go on running. In a shell with")
    output.command(f"export PATH={stage.cluster.bin}:$PATH KUBECONFIG={stage.cluster.kubeconfig}")
    output.tell("try next:")
    output.command("kubectl describe im smollm2")
    output.command(
        "kubectl scale im smollm2 --replicas=2 && kubectl wait im smollm2 --for=condition=Ready --timeout=6m"
    )
    output.command(
        'curl --json \'{"model": "chat", "messages": [{"role": "user", "content": "Hello"}]}\''
        " http://$(kubectl get service smollm2 -o jsonpath={.spec.clusterIP})/v1/chat/completions"
    )
    output.tell("It has this one model and no GPU: examples/minimal.yaml waits for a node here.")
    output.tell("`make demo-down` removes all of it.")


def _diagnose() -> None:
    state = State(CLUSTER)
    if (state.bin / "kubectl").exists() and state.kubeconfig.exists():
        diagnostics.show(Tools(state.bin, state.kubeconfig))


def _down() -> None:
    hub.stop()
    clean(CLUSTER)
    output.good("the demo is gone")


if __name__ == "__main__":
    sys.exit(main())
