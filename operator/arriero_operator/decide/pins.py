"""The commit of each adapter: what the first pod resolved is what all pods of the model serve. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from arriero_api import uris
from arriero_api.contract import AdapterState, NameKind, Registration, Registrations
from arriero_operator.pods.facts import PodFacts

_COMMIT_DIGITS: Final = 40

Entry = tuple[str, str, str]


def pinned(
    served: Sequence[Registration], files: Iterable[Registrations], pods: Iterable[PodFacts]
) -> tuple[Registration, ...]:
    """`served` with the commits of its adapters, as far as they are known.

    `files` are those of the model's revisions as they stand: what one says of an entry stays, until the entry changes.
    Else it is what the oldest pod that serves the adapter has resolved.
    """
    known: dict[Entry, str] = {}
    for file in files:
        for one in file.adapters:
            if one.commit:
                known.setdefault(one.entry, one.commit)
    for pod in sorted(pods, key=lambda pod: (not pod.ready, pod.created, pod.name)):
        for told in pod.status.adapters if pod.live and pod.status is not None else ():
            if told.commit and told.state is AdapterState.REGISTERED:
                known.setdefault((told.name, told.uri, told.revision), told.commit)
    return tuple(replace(one, commit=known.get(one.entry, "")) if _moves(one) else one for one in served)


def _moves(one: Registration) -> bool:
    """Whether it names a branch or tag: a commit is what it is."""
    if one.kind is not NameKind.ADAPTER or len(one.revision) == _COMMIT_DIGITS:
        return False
    try:
        return uris.parse(one.uri).scheme == uris.HF
    except uris.UriError:
        return False
