"""Every right that the operator uses, and whether it has it."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from arriero_operator.configuration.limits import Reads
from arriero_operator.kube.errors import KubeError, Throttled, Unavailable
from arriero_operator.kube.protocol import (
    BUDGETS,
    CLAIMS,
    CONFIG_MAPS,
    DEPLOYMENTS,
    EVENTS,
    LEASES,
    MODELS,
    PODS,
    POLICIES,
    PRIORITY_CLASSES,
    REVISIONS,
    RUNTIME_CLASSES,
    SECRETS,
    SERVICES,
    STORAGE_CLASSES,
    Kind,
    Object,
)
from arriero_operator.process.errors import StartupError

_NOTHING_MORE: Final = Reads()
_WATCH: Final = ("get", "list", "watch")
_OWN: Final = (*_WATCH, "create", "patch")
_REMOVED: Final = (*_OWN, "delete")

RIGHTS: Final[tuple[tuple[Kind, str, tuple[str, ...]], ...]] = (
    (MODELS, "", _WATCH),
    (MODELS, "status", ("patch",)),
    (REVISIONS, "", _REMOVED),
    (CONFIG_MAPS, "", _REMOVED),
    (DEPLOYMENTS, "", _OWN),
    (SERVICES, "", _REMOVED),
    (POLICIES, "", _REMOVED),
    (BUDGETS, "", _REMOVED),
    (PODS, "", (*_WATCH, "patch", "delete")),
    (EVENTS, "", ("create", "list")),
    (CLAIMS, "", _OWN),
)
"""Kind, subresource and verbs that are used in every watched namespace."""

SECRET_RIGHTS: Final = ((SECRETS, "", _WATCH),)
"""What is used in every watched namespace where the chart lets the operator read Secrets."""
CLASS_RIGHTS: Final = tuple((kind, "", ("get",)) for kind in (PRIORITY_CLASSES, RUNTIME_CLASSES, STORAGE_CLASSES))
"""What is used at cluster level where the chart lets the operator read classes."""
LEASE_RIGHTS: Final = ((LEASES, "", ("get", "create", "patch")),)
"""What is used in the operator's own namespace."""

_REVIEWS: Final = Kind("authorization.k8s.io/v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews")
_AT_ONCE: Final = 8
_WITHOUT: Final = "is gone, or without the chart's Role"


@dataclass(frozen=True, slots=True)
class Right:
    """One verb on one resource; `namespace` is empty for all."""

    namespace: str
    group: str
    resource: str
    subresource: str
    verb: str

    def __str__(self) -> str:
        what = "/".join(part for part in (self.resource, self.subresource) if part)
        where = f"in namespace {self.namespace}" if self.namespace else "in all namespaces"
        return f"{self.verb} {what}{f'.{self.group}' if self.group else ''} {where}"


def rights(namespaces: tuple[str, ...], lease_namespace: str, reads: Reads = _NOTHING_MORE) -> list[Right]:
    """Every right that the operator uses."""
    everywhere = [*RIGHTS, *(SECRET_RIGHTS if reads.secrets else ())]
    needed = [(namespace, *entry) for namespace in namespaces or ("",) for entry in everywhere]
    needed += [("", *entry) for entry in (CLASS_RIGHTS if reads.classes else ())]
    needed += [(lease_namespace, *entry) for entry in LEASE_RIGHTS]
    return [
        Right(namespace, kind.api_version.rpartition("/")[0], kind.plural, subresource, verb)
        for namespace, kind, subresource, verbs in needed
        for verb in verbs
    ]


def left_out(reads: Reads, network_policies: bool) -> list[str]:
    """What is not looked up or made, as the chart's values are; each with the value that changes it."""
    switches = [
        (reads.secrets, "Secrets are not looked up (reads.secrets)"),
        (reads.classes, "priority, runtime and storage classes are not looked up (reads.classes)"),
        (network_policies, "models get no NetworkPolicy (networkPolicies.enabled)"),
    ]
    return [words for on, words in switches if not on]


class Reviews(Protocol):
    """Who can be asked for rights."""

    async def create(self, kind: Kind, obj: Object) -> Object:
        """As Kube.create."""


async def check_rights(kube: Reviews, needed: list[Right]) -> Mapping[str, str]:
    """The watched namespaces in which something is missing, where another is as needed; each with what is missing.

    Raises StartupError that lists every right that is missing, where it is none of a watched namespace or all of these
    lack some; and Unavailable or Throttled."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def allowed(right: Right) -> bool:
        async with gate:
            answer = await kube.create(_REVIEWS, _review(right))
        return bool(answer["status"]["allowed"])

    try:
        answers = await asyncio.gather(*(allowed(right) for right in needed))
    except (Unavailable, Throttled):
        raise
    except KubeError as error:
        raise StartupError(f"the operator's rights cannot be checked: {error}") from error
    missing = [right for right, answer in zip(needed, answers, strict=True) if not answer]
    return _lost(needed, missing)


def _lost(needed: Sequence[Right], missing: Sequence[Right]) -> Mapping[str, str]:
    """As `check_rights`, from what is missing."""
    watched = _by_namespace(needed)
    lacks = _by_namespace(missing)
    nothing = [place for place in lacks if len(lacks[place]) == len(watched[place])]
    none_whole = bool(lacks) and len(lacks) == len(watched)
    named = [right for right in missing if not _is_watched(right)]
    if none_whole:
        named += [right for place in lacks if place not in nothing for right in lacks[place]]
    faults = []
    if none_whole and nothing:
        words = f"the operator may do nothing in {', '.join(nothing)}: such a namespace {_WITHOUT}"
        faults.append(f"{words}: make it and upgrade the release, or take it out of watchNamespaces")
    if named:
        faults.append(f"{_may_not(named)}: grant it as the chart's roles do")
    if faults:
        raise StartupError("; ".join(faults))
    gone = f"the operator may do nothing there: the namespace {_WITHOUT}"
    return {place: gone if place in nothing else _may_not(rights) for place, rights in lacks.items()}


def _may_not(missing: Iterable[Right]) -> str:
    return f"the operator may not: {'; '.join(map(str, missing))}"


def _by_namespace(found: Iterable[Right]) -> dict[str, list[Right]]:
    """Those in watched namespaces."""
    by: dict[str, list[Right]] = {}
    for right in filter(_is_watched, found):
        by.setdefault(right.namespace, []).append(right)
    return dict(sorted(by.items()))


def _is_watched(right: Right) -> bool:
    """Whether it is one in a named namespace that is watched: all but the Lease's."""
    return bool(right.namespace) and right.resource != LEASES.plural


async def check_again(kube: Reviews, needed: list[Right]) -> None:
    """As `check_rights`, for one namespace that may be away for long: a single right is asked for before all are."""
    await check_rights(kube, needed[:1])
    await check_rights(kube, needed)


def _review(right: Right) -> Object:
    attributes = {
        "namespace": right.namespace,
        "group": right.group,
        "resource": right.resource,
        "subresource": right.subresource,
        "verb": right.verb,
    }
    return {
        "apiVersion": _REVIEWS.api_version,
        "kind": _REVIEWS.kind,
        "spec": {"resourceAttributes": {key: value for key, value in attributes.items() if value}},
    }
