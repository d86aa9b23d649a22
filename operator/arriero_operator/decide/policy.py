"""What the chart's policy does not allow the authors of InferenceModels. Profiles are the platform's own."""

from collections.abc import Iterable, Iterator
from typing import Any

from arriero_api import uris
from arriero_api.credentials import ADDRESS_VARIABLES
from arriero_api.types import PodTemplate, Spec
from arriero_operator.configuration.limits import Policy


def forbidden(spec: Spec, policy: Policy) -> Iterator[str]:
    """Each field with what is not allowed about it."""
    if spec.pod_template is not None and not policy.pod_template:
        yield "spec.podTemplate: none is allowed"
    if spec.service.type not in policy.service_types:
        yield f"spec.service.type: {spec.service.type} is not one of {', '.join(policy.service_types) or 'none'}"
    if spec.model.trust_remote_code and not policy.trust_remote_code:
        yield "spec.model.trustRemoteCode: code of models is not run"
    if policy.images is not None:
        yield from _others(_images(spec), policy.images)
    if policy.sources is not None:
        yield from _others(_sources(spec), policy.sources)
        yield from _addresses(spec)


def _images(spec: Spec) -> Iterator[tuple[str, str]]:
    if spec.image:
        yield "spec.image", spec.image
    if uris.parse(spec.model.uri).scheme == uris.OCI:
        yield "spec.model.uri", uris.parse(spec.model.uri).location
    yield from _containers(spec.pod_template)


def _containers(template: PodTemplate | None) -> Iterator[tuple[str, str]]:
    found: dict[str, Any] = (template.spec or {}) if template else {}
    for part in ("initContainers", "containers"):
        for one in found.get(part) or ():
            if one.get("image"):
                yield f"spec.podTemplate.spec.{part}[{one['name']}].image", str(one["image"])
    for volume in found.get("volumes") or ():
        image = volume.get("image")
        if isinstance(image, dict) and image.get("reference"):
            yield f"spec.podTemplate.spec.volumes[{volume['name']}].image", str(image["reference"])


def _sources(spec: Spec) -> Iterator[tuple[str, str]]:
    yield "spec.model.uri", str(uris.parse(spec.model.uri))
    for one in (spec.lora.adapters or ()) if spec.lora else ():
        yield f"spec.lora.adapters[{one.name}].uri", one.uri


def _addresses(spec: Spec) -> Iterator[str]:
    for variable in (spec.engine.env or ()) if spec.engine else ():
        if variable.name in ADDRESS_VARIABLES:
            yield f"spec.engine.env: {variable.name}: sources are limited, and it leads them to another host"


def _others(found: Iterable[tuple[str, str]], allowed: Iterable[str]) -> Iterator[str]:
    """What does not begin as it must."""
    allowed = tuple(allowed)
    for place, text in found:
        if not text.startswith(allowed):
            yield f"{place}: {text} does not begin with one of {', '.join(allowed) or 'nothing'}"
