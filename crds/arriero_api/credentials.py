"""Keys of the Secrets that sources are asked with: spec.model.credentials, spec.lora.adapters[].credentials.

docs/operating.md has the same table for people. All but the connection's own keys are per scheme. A key may also have
the name that the source's own tools use for it.
"""

from dataclasses import dataclass
from typing import Final

from arriero_api import uris


@dataclass(frozen=True, slots=True)
class Key:
    """One key of a Secret: its name, other names that are understood, and what it is."""

    name: str
    meaning: str
    also: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All names, the documented one first."""
        return (self.name, *self.also)


CA: Final = "ca.crt"
PROXY: Final = "proxy"
NO_PROXY: Final = "noProxy"
CONNECTION: Final = (
    Key(CA, "certificates (PEM) of the authorities to trust, beside the image's own"),
    Key(PROXY, "URL of a forward proxy, with user and password where it asks for them", ("HTTPS_PROXY",)),
    Key(NO_PROXY, "hosts to reach without it, separated by commas", ("NO_PROXY",)),
)
"""For every scheme."""

ENDPOINT: Final = "endpoint"
KEYS: Final[dict[str, tuple[Key, ...]]] = {
    uris.HF: (
        Key("token", "access token of the hub", ("HF_TOKEN",)),
        Key(ENDPOINT, "URL of the hub; default: the chart's", ("HF_ENDPOINT",)),
    ),
    uris.S3: (
        Key("accessKeyId", "access key", ("AWS_ACCESS_KEY_ID",)),
        Key("secretAccessKey", "its secret", ("AWS_SECRET_ACCESS_KEY",)),
        Key("sessionToken", "token of temporary keys", ("AWS_SESSION_TOKEN",)),
        Key("region", "region of the bucket; default: us-east-1", ("AWS_REGION", "AWS_DEFAULT_REGION")),
        Key(ENDPOINT, "URL of a store that is not Amazon's", ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3")),
    ),
    uris.GS: (
        Key("serviceAccount", "JSON key of a service account", ("key.json", "GOOGLE_APPLICATION_CREDENTIALS_JSON")),
        Key(ENDPOINT, "URL of a store that is not Google's"),
    ),
    uris.AZ: (
        Key("accountName", "storage account", ("AZURE_STORAGE_ACCOUNT_NAME",)),
        Key("accountKey", "access key of the account", ("AZURE_STORAGE_ACCOUNT_KEY",)),
        Key("sasToken", "shared access signature", ("AZURE_STORAGE_SAS_TOKEN",)),
        Key(ENDPOINT, "URL of a store that is not Microsoft's", ("AZURE_STORAGE_ENDPOINT",)),
    ),
    uris.HTTPS: (
        Key("token", "bearer token"),
        Key("username", "user of basic authentication"),
        Key("password", "that user's password"),
    ),
}
"""Scheme → its own keys."""

TOGETHER: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    uris.S3: (("accessKeyId", "secretAccessKey"), ("secretAccessKey", "accessKeyId"), ("sessionToken", "accessKeyId")),
    uris.AZ: (("accountKey", "accountName"), ("sasToken", "accountName")),
    uris.HTTPS: (("username", "password"), ("password", "username")),
}
"""Scheme → pairs of keys of which the first is of no use without the second."""

OPEN: Final = frozenset({ENDPOINT, "region", "accountName", "username", CA, NO_PROXY})
"""Names of keys whose values are no secrets; an address may carry one."""

SECRET_VARIABLES: Final[dict[str, str]] = {
    name: key.name
    for keys in KEYS.values()
    for key in keys
    if key.name not in OPEN
    for name in key.also
    if name.isupper()
}
"""Environment variables that carry secrets of sources → the key of a Secret to use instead."""

ADDRESS_VARIABLES: Final = frozenset(
    name for keys in KEYS.values() for key in keys if key.name == ENDPOINT for name in key.also
) | {"AWS_ENDPOINT", "AZURE_ENDPOINT", "GOOGLE_BASE_URL"}
"""Environment variables that lead the URIs of a scheme to another host: names of keys, and more that obstore reads."""

_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY")
PROXY_VARIABLES: Final = frozenset((*_PROXIES, *(name.lower() for name in _PROXIES)))
"""Environment variables that name a forward proxy, as every source reads them."""


def keys(scheme: str) -> tuple[Key, ...]:
    """All keys that a source of this scheme reads; none for one that is read in place."""
    return (*KEYS[scheme], *CONNECTION) if scheme in KEYS else ()


def told(scheme: str) -> str:
    """The keys of which a Secret for this scheme needs one, for people; with those that some are of no use without."""
    others, names = dict(TOGETHER.get(scheme, ())), [key.name for key in keys(scheme)]
    shown: list[str] = []
    for name in names:
        other = others.get(name, "")
        if others.get(other) != name:
            shown.append(f"{name} with {other}" if other else name)
        elif names.index(name) < names.index(other):  # each needs the other: told once
            shown.append(f"{name} with {other}")
    return " or ".join(part for part in (", ".join(shown[:-1]), *shown[-1:]) if part)
