"""REST paths of the API server."""

from urllib.parse import quote

from arriero_operator.kube.protocol import Kind


def path_of(kind: Kind, namespace: str, name: str = "", subresource: str = "") -> str:
    """Of a subresource, an object or, without a name, all objects of a kind: in a namespace, or in all where that is
    empty."""
    root = "/apis/" if "/" in kind.api_version else "/api/"
    parts = ["namespaces", namespace] if namespace else []
    parts += [part for part in (kind.plural, name, subresource) if part]
    return root + kind.api_version + "/" + "/".join(quote(part, safe="") for part in parts)
