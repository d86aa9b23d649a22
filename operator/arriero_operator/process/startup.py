"""Checks before anything is watched: every right that is used, and a CRD that knows every field that is written."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Protocol

from arriero_api import crd, labels
from arriero_operator.configuration.limits import Reads
from arriero_operator.kube.errors import KubeError, NotFound, Throttled, Unavailable
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
    Kube,
    Object,
)

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
PATIENCE: Final = 15.0
"""Seconds."""
_PAUSE: Final = 1.0
_AT_ONCE: Final = 8
_OPENAPI: Final = f"/openapi/v3/apis/{labels.API_VERSION}"
_INSTALL: Final = "install or upgrade the chart, or apply its CRD with kubectl apply --server-side"


class StartupError(Exception):
    """The operator cannot work here; the text is one line with cause and remedy."""


class Documents(Protocol):
    """Reads JSON documents of the API server by path."""

    async def read(self, path: str) -> Object:
        """Raises the errors of `kube.errors`."""


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


async def check_rights(kube: Kube, needed: list[Right]) -> None:
    """Raises StartupError that lists every right that is missing, and Unavailable or Throttled."""
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
    missing = [str(right) for right, answer in zip(needed, answers, strict=True) if not answer]
    if missing:
        raise StartupError(f"the operator may not: {'; '.join(missing)}: grant it as the chart's roles do")


async def check_crd(documents: Documents, patience: float = PATIENCE) -> None:
    """Raises StartupError when the served InferenceModel is absent or lacks a field of this version.

    Unavailable and Throttled are raised as they are. A CRD that was just installed is published with a delay: it is
    looked for again for `patience` seconds.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while problem := await _problem(documents):
        if loop.time() >= deadline:
            raise StartupError(problem)
        await asyncio.sleep(_PAUSE)


async def _problem(documents: Documents) -> str:
    """What is wrong with the served resource; empty: nothing. Raises StartupError when it cannot be known."""
    try:
        document = await documents.read(_OPENAPI)
    except NotFound:
        return f"the API server has no {labels.KIND} of {labels.API_VERSION}: {_INSTALL}"
    except (Unavailable, Throttled):
        raise
    except KubeError as error:
        raise StartupError(f"the CRD cannot be checked: {error}") from error
    served = _served_schema(document)
    wanted = crd.definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    if lacking := sorted(_lacking(wanted, served, "")):
        return f"the CRD of {labels.KIND} is of another version, it lacks {', '.join(lacking)}: {_INSTALL}"
    return ""


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


def _served_schema(document: Object) -> dict[str, Any]:
    """The schema of the InferenceModel in an OpenAPI v3 document; empty when there is none."""
    kind = {"group": labels.GROUP, "version": labels.VERSION, "kind": labels.KIND}
    for schema in document.get("components", {}).get("schemas", {}).values():
        if kind in schema.get("x-kubernetes-group-version-kind", ()):
            return dict(schema)
    return {}


def _lacking(wanted: dict[str, Any], served: dict[str, Any], path: str) -> Iterator[str]:
    """Paths of the topmost properties of `wanted` that `served` does not have."""
    for name, inner in wanted.get("properties", {}).items():
        found = served.get("properties", {}).get(name)
        if found is None:
            yield f"{path}{name}"
        else:
            yield from _lacking(inner, found, f"{path}{name}.")
    if "items" in wanted:
        yield from _lacking(wanted["items"], served.get("items", {}), path)
