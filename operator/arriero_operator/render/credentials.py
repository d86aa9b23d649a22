"""Secrets that sources are asked with, as volumes of a pod: a folder for each, read by the runtime at each fetch.

They are optional to the kubelet: a pod whose Secret is absent starts and says so itself, with the keys that it needs,
and goes on once the Secret is there. Kubernetes tells of a missing one by Events alone, which need a right of their
own. An operator that may read Secrets looks for them before.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from arriero_api import pod, uris
from arriero_api.credentials import keys, told
from arriero_api.types import Spec
from arriero_operator.render.inputs import Inputs
from arriero_operator.render.references import SECRET, Reference

_VOLUME: Final = "credentials-"
_MODE: Final = 0o440

Json = dict[str, Any]


def needed(spec: Spec) -> tuple[Reference, ...]:
    """The Secrets, each with the keys of which its source can use any: pods start without, and then wait for them."""
    listed = (spec.lora.adapters or ()) if spec.lora else ()
    asked = [
        ("spec.model", spec.model.uri, spec.model.credentials),
        *((f"spec.lora.adapters[{one.name}]", one.uri, one.credentials) for one in listed),
    ]
    found: dict[Reference, None] = {}
    for where, uri, one in asked:
        if one is not None:
            found.setdefault(_reference(uri, one.secret_name, f"{where}.credentials.secretName"))
    return tuple(sorted(found))


def _reference(uri: str, secret: str, where: str) -> Reference:
    try:
        scheme = uris.parse(uri).scheme
    except uris.UriError:
        scheme = ""
    names = tuple(name for key in keys(scheme) for name in key.names)
    return Reference(SECRET, secret, followed=True, one_of=names, keys=told(scheme), where=where)


def volumes(inputs: Inputs) -> list[Json]:
    """One volume for each Secret."""
    return [
        {"name": _name(secret), "secret": {"secretName": secret, "optional": True, "defaultMode": _MODE}}
        for secret in _secrets(inputs)
    ]


def mounts(inputs: Inputs) -> list[Json]:
    """Whole folders: a single file would not follow a changed Secret."""
    return [
        {"name": _name(secret), "mountPath": f"{pod.CREDENTIALS_DIR}/{secret}", "readOnly": True}
        for secret in _secrets(inputs)
    ]


def mounted(template: Mapping[str, Any]) -> frozenset[str]:
    """Names of the Secrets that pods of a template have for their sources."""
    volumes = template.get("spec", {}).get("volumes") or ()
    found = {str(one.get("name")): str((one.get("secret") or {}).get("secretName", "")) for one in volumes}
    return frozenset(secret for name, secret in found.items() if secret and name == _name(secret))


def _secrets(inputs: Inputs) -> list[str]:
    own = [inputs.credentials] if inputs.credentials else []
    return [*own, *(one for one in inputs.adapter_credentials if one != inputs.credentials)]


def _name(secret: str) -> str:
    """A label: names of Secrets may be longer, and have dots."""
    return _VOLUME + hashlib.sha256(secret.encode()).hexdigest()[:8]
