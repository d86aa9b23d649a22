"""Ends and removes a control plane or cluster, whatever state it is in."""

import shutil

from tests.cluster.locking import locked
from tests.cluster.processes import end, marked
from tests.cluster.progress import say
from tests.cluster.state import State


def clean(name: str) -> None:
    """End every process of `name` and remove its state folder; does nothing when there is none."""
    state = State(name)
    with locked(state.lock, f"{name} is being started or ended"):
        present = state.folder.is_dir()
        state.records.end(*state.records.names(), grace=0)
        end(marked(state.folder), grace=0)
        if present:
            shutil.rmtree(state.folder)
            say(f"{name} is gone")
