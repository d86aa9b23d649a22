"""One life of the container, from the command line to the exit code."""

import os
import select
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from arriero_api import pod
from arriero_api.contract import Failure, Phase, Shutdown
from arriero_api.scrub import scrubbed, secret_values
from arriero_runtime import wording
from arriero_runtime.cli import ServeOptions, UsageError, parse, termination_log
from arriero_runtime.diagnosis import Diagnosis, make_failure
from arriero_runtime.messages import Told
from arriero_runtime.supervisor import exitcodes, tree
from arriero_runtime.supervisor.chapters import Chapters
from arriero_runtime.supervisor.child import Child
from arriero_runtime.supervisor.control import Control
from arriero_runtime.supervisor.deadline import Deadline
from arriero_runtime.supervisor.ending import End, describe, leave, meaning, oom_kills, out_of_memory
from arriero_runtime.supervisor.log import Copy, Lines, Pump, write_fully
from arriero_runtime.supervisor.memory import Memory, asked_seconds, inputs_hash, restarts, wait_seconds
from arriero_runtime.supervisor.metrics import Sources, render
from arriero_runtime.supervisor.settings import Settings
from arriero_runtime.supervisor.signals import Signals
from arriero_runtime.supervisor.state import State
from arriero_runtime.supervisor.supervisor import Supervisor


def run(argv: Sequence[str], signals: Signals, settings: Settings | None = None) -> int:
    """Serve until the end; returns the exit code (see `exitcodes`)."""
    try:
        options = parse(argv)
    except UsageError as error:
        print(f"arriero-runtime: {error}", file=sys.stderr)  # noqa: T201 the log is not there yet
        leave(_broken(str(error)), termination_log(argv), pod.TERMINATION_LOG_BYTES)
        return exitcodes.USAGE
    container = Container(options, settings or Settings(), signals)
    try:
        return container.live(argv)
    except Exception as error:
        failure = _broken(f"{type(error).__name__}: {error}")
        container.end(failure)
        raise


def _broken(message: str) -> Failure:
    return scrubbed(make_failure("RuntimeExited", f"The supervisor cannot work: {message}"), secret_values(os.environ))


def _version() -> str:
    """Of the installed package; "unknown" where it runs from a folder."""
    # A quarter of what is imported: not before the first probe is answered.
    from importlib import metadata

    try:
        return metadata.version("arriero")
    except metadata.PackageNotFoundError:
        return "unknown"


def _counts(shutdown: Shutdown | None) -> str:
    if shutdown is None:
        return "the server did not say how its requests ended"
    return f"{shutdown.completed} requests completed, {shutdown.aborted} aborted"


def _until(failure: Failure, seconds: float) -> Failure:
    """The failure, with the time of the next try."""
    at = datetime.fromtimestamp(time.time() + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return replace(
        failure, message=f"{failure.message} The next try is at {at}.", details={**failure.details, "retryAt": at}
    )


class Container:
    """Owns everything that lives as long as the process."""

    def __init__(self, options: ServeOptions, settings: Settings, signals: Signals) -> None:
        wording.choose(alone=options.allow_registration)
        self._options = options
        self._settings = settings
        self._signals = signals
        secrets = secret_values(os.environ)
        self._diagnosis = Diagnosis(secrets)
        self._child: Child | None = None
        self._kills = oom_kills(settings.memory_events)
        chapters = Chapters(self._diagnosis, self._killed, self._tell)
        # Under the operator a container has one model, and what a client writes ends no chapter.
        self._lines = Lines(chapters.feed if options.allow_registration else self._diagnosis.feed)
        self._log = Copy("log", settings.log_bytes, write_fully(sys.stdout.fileno()), tell_gaps=True)
        self._parser = Copy("parser", settings.parser_bytes, self._lines)
        self._closing: Deadline | None = None
        self._state = State(settings.fresh, settings.stuck, secrets)

    def live(self, argv: Sequence[str]) -> int:
        """From the open control port to the exit code."""
        sources = Sources(self._state, self._log, self._parser)
        Control(self._options.host, self._options.control_port, self._state, lambda: render(sources))
        tree.become_subreaper()
        sources.version = _version()
        sources.restarts = restarts(self._options.state_dir)
        memory = Memory(self._options.state_dir, inputs_hash(argv, os.environ, sources.version))
        failure = self._serve(argv, memory)
        if failure is None:
            shutdown = self._shutdown()
            self.say(f"stopped: {_counts(shutdown)}")
            return self.end(shutdown)
        self._state.failure = failure
        self.say(f"{failure.reason}: {failure.message} {failure.remedy}")
        if not self._signals.stop_requested:
            self._wait_before_retry(failure, memory.seen(failure))
        return self.end(failure)

    def _shutdown(self) -> Shutdown | None:
        """How the requests have ended; None where the server did not say."""
        if drained := self._state.drained:
            return Shutdown(drained.completed, drained.aborted)
        return None if self._state.was_ready else Shutdown()

    def _killed(self) -> Failure | None:
        """For the engine that has just ended."""
        before, self._kills = self._kills, oom_kills(self._settings.memory_events)
        return out_of_memory() if self._kills > before else None

    def _tell(self, told: Told) -> None:
        if self._child is not None:
            self._child.channel.send(told)

    def say(self, text: str) -> None:
        """One line of the supervisor's own in the log."""
        self._log.offer(f"arriero-runtime: {text}\n".encode())

    def end(self, ended: Failure | Shutdown | None) -> int:
        """Kill what is left, write the termination message and let the log be read; returns the exit code."""
        self._leave(ended)
        closing = self._closing or self._close_by(None)
        if left := tree.kill_all(closing.at_most(self._settings.kill), lambda reaped: None):
            self.say(f"cannot kill: {left}")
        self._log.close(closing.left())
        return exitcodes.exit_code(ended.reason) if isinstance(ended, Failure) else exitcodes.STOPPED

    def _leave(self, ended: Failure | Shutdown | None) -> None:
        problem = leave(ended, self._options.termination_log, pod.TERMINATION_LOG_BYTES)
        if problem:
            self.say(f"the termination message cannot be written: {problem}")

    def _close_by(self, patience_ends: float | None) -> Deadline:
        own = time.monotonic() + self._settings.last_words
        return Deadline(own if patience_ends is None else min(own, patience_ends))

    def _serve(self, argv: Sequence[str], memory: Memory) -> Failure | None:
        if self._signals.stop_requested:
            return None
        settings = self._settings
        killed_before = oom_kills(settings.memory_events)
        child = self._child = Child(settings, argv)
        pump = Pump(child.output, (self._log, self._parser))
        supervisor = Supervisor(self._options, settings, self._signals, self._state, self.say, memory.forget)
        supervisor.watch(child)
        self._closing = self._close_by(supervisor.patience_ends)
        tree.kill_all(self._closing.at_most(settings.kill), child.note)
        end = End(
            child.wait_status,
            self._state.stopping,
            self._state.was_ready,
            self._state.said,
            supervisor.complaint,
            oom_kills(settings.memory_events) > killed_before,
        )
        # Whatever happens while the log is read: this much is told.
        self._leave(meaning(end) or self._shutdown())
        self._read_log(pump, self._closing)
        self.say(f"the server {describe(child.wait_status)}")
        failure = meaning(replace(end, told=self._diagnosis.failure(engine_only=self._state.was_ready)))
        return failure and self._with_phase(failure)

    def _read_log(self, pump: Pump, closing: Deadline) -> None:
        pump.join(closing.left())
        self._parser.close(closing.left())
        self._lines.finish()

    def _with_phase(self, failure: Failure) -> Failure:
        """Where the one who told the failure named no phase: the last one reached."""
        return replace(failure, phase=self._state.reached) if failure.phase is Phase.FAILED else failure

    def _wait_before_retry(self, failure: Failure, seen: int) -> None:
        asked = asked_seconds(failure, self._settings.longest_asked)
        seconds = max(asked, wait_seconds(seen, self._settings.first_wait, self._settings.longest_wait))
        if not seconds:
            return
        self._closing = None
        if asked:
            failure = self._state.failure = _until(failure, seconds)
        self._leave(failure)
        why = "the source asks to wait" if asked else "a retry cannot mend this"
        self.say(f"{why}: the next one is in {seconds:.0f} s")
        deadline = time.monotonic() + seconds
        while not self._signals.stop_requested and (left := deadline - time.monotonic()) > 0:
            select.select([self._signals], [], [], left)
            self._signals.clear()
            tree.reap()
