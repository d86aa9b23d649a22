"""A real start of the runtime for one case, and what became of it."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from arriero_api.contract import Failure
from arriero_runtime.supervisor import exitcodes
from tests.engine_failures.broken import BREAK, broken
from tests.engine_failures.cases import REPOSITORY, Case
from tests.hub import Hub
from tests.models import smollm2, tiny
from tests.support.real_runtime import NAME, START_SECONDS, RealRuntime, python_path
from tests.support.runtime_process import until
from tests.support.streams import Streams

_MOUNTS: Final = Path("/mnt")
_READ_ONLY: Final = "mount -o remount,bind,ro /"
_PLACES: Final = {
    "READ_ONLY": _READ_ONLY,
    "READ_ONLY_TMP": f"mount -t tmpfs -o mode=1777 tmpfs /tmp && {_READ_ONLY}",
}


ENDLESS: Final = {"model": NAME, "prompt": "Once", "max_tokens": 900, "ignore_eos": True, "stream": True}
"""A request for a stream that nobody waits the end of."""
Start = Callable[..., RealRuntime]
"""The fixture `start`: a model's folder, arguments of the engine, `env` → a runtime that is ready."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`failure` is None where the model became ready; `left` are processes that outlived the runtime."""

    failure: Failure | None
    exit_code: int
    seconds: float
    left: tuple[int, ...]
    log: str


def play(case: Case, folder: Path) -> Outcome:
    """Start the runtime as `case` says; stop it once it is ready."""
    with contextlib.ExitStack() as stack:
        runtime = _start(case, folder, stack)
        seen: set[int] = set()

        def decided() -> bool:
            seen.update(runtime.below())
            return runtime.process.poll() is not None or runtime.get("/readyz")[0] == 200

        until(decided, f"{case.name}: ready or ended", START_SECONDS)
        seconds, failure = runtime.age(), runtime.failure()
        runtime.stop()
        code = runtime.ended(60)
        left = tuple(pid for pid in sorted(seen) if Path(f"/proc/{pid}").exists())
        return Outcome(failure, code, seconds, left, runtime.text())


def explained(runtime: RealRuntime, below: list[int], code: int) -> Failure:
    """The failure that it left, after it has ended with everything below it."""
    assert runtime.ended(30) == code, runtime.text()[-2000:]
    assert not [pid for pid in below if Path(f"/proc/{pid}").exists()]
    failure = runtime.failure()
    assert failure is not None and failure.remedy
    return failure


def killed(runtime: RealRuntime, pid: int, streams: int) -> Failure:
    """The failure that it leaves when one of its processes is killed while it gives so many streams: it is out of
    readiness soon, the streams end, and it ends with everything below it."""
    below = runtime.below()
    with Streams(runtime.serve_port, "/v1/completions", ENDLESS, streams) as held:
        held.until_all_began(60)
        os.kill(pid, signal.SIGKILL)
        before = time.monotonic()
        until(lambda: runtime.get("/readyz")[0] != 200, "out of readiness")
        assert time.monotonic() - before < 10
        failure = explained(runtime, below, exitcodes.DIED)
        held.read(5)
        assert held.open == 0
    assert failure.reason == "EngineDied"
    return failure


def _start(case: Case, folder: Path, stack: contextlib.ExitStack) -> RealRuntime:
    env = {**case.env}
    model = _model(case, folder)
    if case.hub is not None or case.hub_url:
        model = f"hf://{case.repository}"
        env |= {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": case.hub_url or _hub(case, stack)}
    if env.get("TMPDIR") == "FULL":
        full = folder / "full"
        full.mkdir()
        env |= {"TMPDIR": str(full), "FULL": str(full)}
    inside = None
    if case.user:
        folder.chmod(0o777)
        (folder / "state").mkdir(mode=0o777)
        assert isinstance(model, Path)
        env["PYTHONPATH"] = os.pathsep.join(f"{_MOUNTS}/{number}" for number in range(3))
        env["MODEL"], env["FOLDER"] = str(model), str(folder)
        model, inside = _MOUNTS / "model", _MOUNTS / "folder"
    own = list(case.own)
    if case.port_taken:
        taken = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        own.append(f"--port={taken.getsockname()[1]}")
    runtime = RealRuntime(folder, model, engine=case.engine, own=own, env=env, wrapper=_wrapper(case), inside=inside)
    stack.callback(runtime.clean)
    return runtime


def _model(case: Case, folder: Path) -> Path | str:
    if case.model in BREAK:
        return broken(case.model, tiny(), folder)
    return {"tiny": tiny(), "smollm2": smollm2(), "missing": Path("/nowhere/model")}[case.model]


def _hub(case: Case, stack: contextlib.ExitStack) -> str:
    hub = stack.enter_context(Hub.start())
    hub.add_repo(REPOSITORY, tiny(), gated=case.gated)
    for fault in case.hub or ():
        hub.fault(fault)
    return hub.url


def _wrapper(case: Case) -> Sequence[str]:
    """The process's own mounts, and its own user, for whom all that it needs is put where it can read it."""
    if not case.place:
        return ()
    words = [_PLACES.get(case.place, case.place)]
    command = '"$0" "$@"'
    if case.user:
        folders = [*python_path(), "$MODEL", "$FOLDER"]
        places = [f"{_MOUNTS}/{name}" for name in (0, 1, 2, "model", "folder")]
        binds = [f"mkdir {place} && mount --bind {path} {place}" for path, place in zip(folders, places, strict=True)]
        hidden = f"mount -t tmpfs -o mode=755 tmpfs {Path.home()}"
        writable = f"chmod 666 {_MOUNTS}/folder/termination-log"
        words = [f"mount -t tmpfs -o mode=755 tmpfs {_MOUNTS}", *binds, writable, hidden, *words, "cd /"]
        command = f"setpriv --reuid {case.user} --regid 0 --clear-groups {command}"
    return ("unshare", "-m", "--propagation", "private", "sh", "-c", f"{' && '.join(words)} && exec {command}")
