"""Class B of the field cases: the server in its pod."""

import asyncio
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from arriero_api.contract import Failure, Phase, RuntimeStatus
from arriero_runtime.server.environment import prepare
from tests.operator.reconcile.models import events, model, until
from tests.operator.reconcile.pods import Pods
from tests.operator.reconcile.runtime import scripted_runtime
from tests.operator.reconcile.test_control_plane import serve
from tests.runtime.server.harness import free_port, options_for, running
from tests.support.kubectl import Kubectl, KubectlError, Object

ROOT = Path(__file__).parents[2]
DEATH = (
    '{"schemaVersion": 1, "reason": "EngineDied", "message": "the engine ended while it served", '
    '"remedy": "The pod starts anew by itself."}'
)


def container_of(pod: Object) -> Object:
    """The pod's one container."""
    (found,) = pod["spec"]["containers"]
    return dict(found)


@pytest.mark.control_plane
def test_b01_a_model_that_loads_is_waited_for_and_no_probe_limits_how_long(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        served.apply(model("tiny"))
        pods = Pods(served, "tiny")
        (pod,) = pods.placed()
        container = container_of(pod)
        assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
        assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
        assert "startupProbe" not in container
        runtime.status = RuntimeStatus(Phase.LOADING)
        pods.run(pod, runtime.ip)
        until(served, "tiny", "Ready", "False", "Loading")
        until(served, "tiny", "Reconciling", "True", "Loading")


@pytest.mark.full
@pytest.mark.control_plane
def test_b01_a_first_start_that_passes_its_limit_is_told_with_the_field_and_goes_on(served: Kubectl) -> None:
    with scripted_runtime() as runtime:
        served.apply(model("tiny", rollout={"progressDeadlineSeconds": 30}))
        pods = Pods(served, "tiny")
        (pod,) = pods.placed()
        runtime.status = RuntimeStatus(Phase.LOADING, since_seconds=3600)
        pods.run(pod, runtime.ip)
        until(served, "tiny", "Ready", "False", "Loading")
        found = until(served, "tiny", "Ready", "False", "NoProgress", timeout=50)
        assert "No progress for 30 s" in found["message"]
        assert "spec.rollout.progressDeadlineSeconds" in found["message"]
        until(served, "tiny", "Stalled", "True", "NoProgress")
        assert [one["metadata"]["uid"] for one in pods.live()] == [pod["metadata"]["uid"]]
        runtime.status = RuntimeStatus(Phase.READY)
        pods.ready(pod, runtime.ip)
        until(served, "tiny", "EngineReady", "True")


@pytest.mark.control_plane
def test_b02_a_model_may_be_called_vllm_and_no_service_reaches_its_environment(served: Kubectl) -> None:
    pods = serve(served, "vllm")
    (pod,) = pods.live()
    assert served.exists("service", "vllm")
    assert pod["spec"]["enableServiceLinks"] is False


def test_b02_an_address_in_the_place_of_the_port_is_dropped(tmp_path: Path) -> None:
    environment = {"VLLM_PORT": "tcp://10.0.0.1:8000"}
    prepare(environment, tmp_path)
    assert "VLLM_PORT" not in environment


@pytest.mark.control_plane
def test_b03_a_dead_engine_is_told_in_one_event_and_forgotten_when_the_pod_serves_again(served: Kubectl) -> None:
    pods = serve(served)
    (pod,) = pods.live()
    pods.waiting(pod, "CrashLoopBackOff", "back-off", {"exitCode": 13, "reason": "Error", "message": DEATH})
    until(served, "tiny", "Ready", "False", "EngineDied", timeout=5)
    until(served, "tiny", "Available", "False", "NoReadyReplica")
    pods.ready(pod)
    until(served, "tiny", "Ready", "True", "Ready")
    assert len(events(served, "tiny", "EngineDied")) == 1


async def test_b03_a_request_under_way_on_a_dead_engine_is_ended_within_seconds(tmp_path: Path) -> None:
    async with running(options_for(tmp_path)) as server:
        request = asyncio.create_task(server.chat(user="wait"))
        await asyncio.wait_for(server.engine.started.wait(), 5)
        server.engine.errored = True
        answer = await asyncio.wait_for(request, 15)
        assert (answer.status_code, answer.json()["error"]["type"]) == (503, "server_error")
        assert await server.exit_code() == 1


def test_b08_home_and_caches_of_a_user_without_a_home_lie_below_the_cache_folder(tmp_path: Path) -> None:
    script = (
        "import os, pathlib\n"
        "from arriero_runtime.server.environment import prepare\n"
        f"prepare(os.environ, pathlib.Path({str(tmp_path)!r}))\n"
        "print(pathlib.Path.home())\n"
    )
    homeless = {name: value for name, value in os.environ.items() if name != "HOME"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=homeless)
    assert done.stdout.strip() == str(tmp_path / "home")


AS_NOBODY = "import os; os.setgroups([]); os.setgid(0); os.setuid(23456)\n"


def run(script: str, *arguments: str, **environment: str) -> str:
    """What a script of Python says, whose environment is this alone."""
    own = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'crds'}:{ROOT / 'runtime'}"} | environment
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, env=own, timeout=60).stdout


def test_b08_a_user_that_nobody_knows_is_told_which_folder_it_cannot_write() -> None:
    script = (
        "import sys\n"
        "from arriero_runtime import cli\n"
        "from arriero_runtime.server import environment\n"
        "options = cli.parse(sys.argv[1:])\n"
        f"{AS_NOBODY}"
        "found = environment.unusable(options)\n"
        "print(found.to_json(4096) if found else '')\n"
    )
    with tempfile.TemporaryDirectory() as name:
        closed, own = Path(name, "closed"), Path(name, "own")
        for folder, mode in ((Path(name), 0o755), (closed, 0o755), (own, 0o777)):
            folder.mkdir(exist_ok=True)
            folder.chmod(mode)
        assert run(script, "serve", "--model=file:///m", f"--cache-dir={own}").strip() == ""
        found = Failure.from_json(run(script, "serve", "--model=file:///m", f"--cache-dir={closed}"))
    assert found.reason == "CacheUnusable"
    assert f"{closed} cannot be written: Permission denied (user 23456, groups 0)" in found.message


def test_b08_a_folder_that_cannot_be_written_ends_the_container_with_its_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    message = tmp_path / "message"
    options = [f"--cache-dir={tmp_path / 'file' / 'cache'}", f"--state-dir={tmp_path}", f"--termination-log={message}"]
    ports = [f"--port={free_port()}", f"--control-port={free_port()}", "--host=127.0.0.1"]
    command = [sys.executable, "-m", "arriero_runtime", "serve", "--model=file:///m", *options, *ports]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode != 0
    found = Failure.from_json(message.read_text())
    assert found.reason == "CacheUnusable"
    assert f"{tmp_path / 'file' / 'cache'} cannot be written: Not a directory" in found.message


def test_b08_a_user_without_a_name_has_one_for_libraries(tmp_path: Path) -> None:
    environ: dict[str, str] = {}
    prepare(environ, tmp_path)
    said = run(f"import getpass, pathlib\n{AS_NOBODY}print(getpass.getuser(), pathlib.Path.home())", **environ)
    assert said.split() == ["arriero", str(tmp_path / "home")]


@pytest.mark.control_plane
def test_b08_every_folder_that_is_written_is_a_volume_and_the_rest_read_only(served: Kubectl) -> None:
    served.apply(model("tiny"))
    (pod,) = Pods(served, "tiny").placed()
    container = container_of(pod)
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    writable = {mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"/var/cache/arriero", "/var/lib/arriero", "/tmp", "/dev/shm"}


@pytest.mark.control_plane
def test_b10_shared_memory_has_the_size_that_was_asked_for_and_a_default(served: Kubectl) -> None:
    served.apply(model("tiny", sharedMemory="8Gi"))
    served.apply(model("default"))
    sizes = {}
    for name in ("tiny", "default"):
        (pod,) = Pods(served, name).placed()
        volumes = {volume["name"]: volume for volume in pod["spec"]["volumes"]}
        mounts = {mount["mountPath"]: mount["name"] for mount in container_of(pod)["volumeMounts"]}
        shm = volumes[mounts["/dev/shm"]]["emptyDir"]
        assert shm["medium"] == "Memory"
        sizes[name] = shm["sizeLimit"]
    assert sizes == {"tiny": "8Gi", "default": "2Gi"}


@pytest.mark.control_plane
@pytest.mark.parametrize("length", [0, -1])
def test_b11_a_context_below_one_token_is_refused_by_the_api_server(served: Kubectl, length: int) -> None:
    with pytest.raises(KubectlError, match=r"spec\.engine\.maxModelLen"):
        served.apply(model("tiny", engine={"maxModelLen": length}))


@pytest.mark.control_plane
def test_b11_a_context_in_the_arguments_is_refused_with_the_field_to_use(served: Kubectl) -> None:
    served.apply(model("tiny", engine={"args": ["--max-model-len", "131072"]}))
    found = until(served, "tiny", "Accepted", "False", "EngineFlagOwned")
    assert "spec.engine.maxModelLen" in found["message"]
    # The condition is written after what is made: nothing was.
    assert not served.items("pods,deployments,services,configmaps", "arriero.dev/model=tiny")
