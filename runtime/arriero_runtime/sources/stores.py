"""Models in object stores: list a folder, read its objects. Blocking."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Any, Final

import obstore
from obstore.store import AzureStore, GCSStore, S3Store

from arriero_api import credentials, uris
from arriero_api.contract import Phase
from arriero_api.uris import ModelUri
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources import digests, store_errors
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.access import shown as address
from arriero_runtime.sources.digests import Digest, etag
from arriero_runtime.sources.http_errors import Where
from arriero_runtime.sources.kinds import Kind
from arriero_runtime.sources.remote import Piece, Remote, fingerprint, read_small, shelf_of

_CHUNK: Final = 4 * 1024 * 1024
_RETRIES: Final = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
_SMALL: Final = 1024 * 1024
_S3_ENDPOINT: Final = "AWS_ENDPOINT_URL"
_STORES: Final = {uris.S3: "Amazon S3", uris.GS: "Google Cloud Storage", uris.AZ: "Azure Blob Storage"}
_S3_CHAIN: Final = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ACCESS_KEY_ID")
_GS_CHAIN: Final = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT")
_AZ_CHAIN: Final = ("AZURE_FEDERATED_TOKEN_FILE", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN")
"""What a cluster's own identity service puts into pods; without it and a Secret, requests are not signed."""

Store = S3Store | GCSStore | AzureStore


@dataclass(frozen=True, slots=True)
class StoreSource:
    """One folder of an object store. `marks` are entity tags that an object must still have."""

    uri: ModelUri
    access: Access
    store: Store
    marks: Mapping[str, str]

    @property
    def shown(self) -> str:
        return _shown(self.uri, self.access)

    @contextmanager
    def open(self, path: str, offset: int) -> Iterator[Piece]:
        """See `Source`."""
        options: dict[str, Any] = {"range": {"offset": offset}} if offset else {}
        if mark := self.marks.get(path):
            options["if_match"] = mark
        found = obstore.get(self.store, self._key(path), options=options)  # type: ignore[arg-type]
        yield Piece(offset, (bytes(chunk) for chunk in found.stream(min_chunk_size=_CHUNK)))

    def explain(self, error: Exception, what: str, phase: Phase) -> StartError:
        """See `Source`."""
        return store_errors.explain(error, Where(what, self.shown, phase, self.access.proxied))

    def listing(self) -> dict[str, Mapping[str, Any]]:
        """Path below the folder → size and entity tag."""
        prefix = f"{self.uri.path}/" if self.uri.path else ""
        found: dict[str, Mapping[str, Any]] = {}
        for batch in obstore.list(self.store, prefix=self.uri.path or None):
            for one in batch:
                path = str(one["path"]).removeprefix(prefix)
                if PurePosixPath(path).parts and ".." not in PurePosixPath(path).parts:
                    found[path] = one
        return found

    def _key(self, path: str) -> str:
        return f"{self.uri.path}/{path}" if self.uri.path else path


def look_up(uri: ModelUri, access: Access, kind: Kind) -> Remote:
    """The model or adapter in a folder. Raises StartError."""
    what = str(uri)
    try:
        source = StoreSource(uri, access, _store(uri, access), {})
        listed = source.listing()
    except StartError:
        raise
    except Exception as error:
        where = Where(what, _shown(uri, access), Phase.RESOLVING, access.proxied)
        raise store_errors.explain(error, where) from error
    if not listed:
        raise start_error("ModelNotFound", f"There is nothing at {what}.", Phase.RESOLVING)
    try:
        known = _digests(source, listed)
    except Exception as error:
        raise source.explain(error, what, Phase.RESOLVING) from error
    needed = kind.chosen(listed, f"The folder {what}")
    marks = {path: str(listed[path]["e_tag"]) for path in needed if listed[path].get("e_tag")}
    told = {path: f"{listed[path]['size']} {marks.get(path) or listed[path]['last_modified']}" for path in needed}
    return Remote(
        what,
        PurePosixPath(kind.shelf, shelf_of(uri), fingerprint(told)),
        tuple((path, int(listed[path]["size"])) for path in needed),
        StoreSource(uri, access, source.store, marks),
        digests={path: known[path] for path in needed if path in known},
    )


def _shown(uri: ModelUri, access: Access) -> str:
    """The store's address, where it has one of its own, without credentials."""
    said = access.value("endpoint") or (os.environ.get(_S3_ENDPOINT, "") if uri.scheme == uris.S3 else "")
    return address(said) if said else _STORES[uri.scheme]


def _digests(source: StoreSource, listed: Mapping[str, Mapping[str, Any]]) -> dict[str, Digest]:
    """By the list of sums beside the files, where there is one, else by entity tags."""
    if digests.SUMS in listed:
        try:
            return digests.sums(read_small(source, digests.SUMS).decode())
        except ValueError as error:
            words = f"{digests.SUMS} of {source.uri} cannot be used: {error}."
            raise start_error("ModelIncomplete", words, Phase.RESOLVING) from error
    found = {path: digest for path, one in listed.items() if (digest := etag(one.get("e_tag")))}
    return found if _tags_are_sums(source, found, listed) else {}


def _tags_are_sums(source: StoreSource, found: Mapping[str, Digest], listed: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether this store's entity tags are MD5 sums, by its smallest object: of an encrypted one they are not."""
    smallest = min(found, key=lambda path: int(listed[path]["size"]), default=None)
    if smallest is None or int(listed[smallest]["size"]) > _SMALL:
        return False
    return Digest("md5", digests.of_bytes("md5", read_small(source, smallest))) == found[smallest]


def _store(uri: ModelUri, access: Access) -> Store:
    endpoint = access.value("endpoint")
    connection = {
        "connect_timeout": timedelta(seconds=10),
        "timeout": timedelta(days=1),
        "read_timeout": timedelta(seconds=20),
        "allow_http": endpoint.startswith("http://") or os.environ.get(_S3_ENDPOINT, "").startswith("http://"),
    }
    if access.ca:
        connection["root_certificate"] = access.ca
    if proxy := access.value(credentials.PROXY):
        connection["proxy_url"] = proxy
        if excluded := access.value(credentials.NO_PROXY):
            connection["proxy_excludes"] = excluded
    make = {uris.S3: _s3, uris.GS: _gs, uris.AZ: _az}[uri.scheme]
    return make(uri.location, access, {"client_options": connection, "retry_config": _RETRIES})


def _s3(bucket: str, access: Access, options: dict[str, Any]) -> Store:
    said = {
        "access_key_id": access.value("accessKeyId"),
        "secret_access_key": access.value("secretAccessKey"),
        "session_token": access.value("sessionToken"),
        "endpoint": access.value("endpoint"),
        "region": access.value("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION"),
    }
    config: dict[str, Any] = {key: value for key, value in said.items() if value}
    config.setdefault("region", "us-east-1")
    if "access_key_id" not in config and not _identity(_S3_CHAIN):
        config["skip_signature"] = True
    return S3Store(bucket, config=config, **options)  # type: ignore[arg-type]


def _gs(bucket: str, access: Access, options: dict[str, Any]) -> Store:
    account = access.value("serviceAccount")
    config: dict[str, Any] = {}
    if endpoint := access.value("endpoint"):
        # The library takes another address by the key of an account alone.
        plain = {"client_email": "", "private_key": "", "private_key_id": "", "disable_oauth": True}
        account = json.dumps({**(json.loads(account) if account else plain), "gcs_base_url": endpoint})
    if account:
        config["service_account_key"] = account
    if not access.value("serviceAccount") and not _identity(_GS_CHAIN):
        config["skip_signature"] = True
    return GCSStore(bucket, config=config, **options)  # type: ignore[arg-type]


def _az(container: str, access: Access, options: dict[str, Any]) -> Store:
    said = {
        "account_name": access.value("accountName") or os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"),
        "account_key": access.value("accountKey"),
        "sas_key": access.value("sasToken"),
        "endpoint": access.value("endpoint"),
    }
    config: dict[str, Any] = {key: value for key, value in said.items() if value}
    if "account_name" not in config:
        raise start_error(
            "CredentialsMissing",
            f"az://{container} is in a storage account that is not named.",
            Phase.RESOLVING,
            remedy="Give spec.model.credentials a Secret with the key accountName.",
        )
    if "account_key" not in config and "sas_key" not in config and not _identity(_AZ_CHAIN):
        config["skip_signature"] = True
    return AzureStore(container, config=config, **options)  # type: ignore[arg-type]


def _identity(variables: tuple[str, ...]) -> bool:
    return any(os.environ.get(name) for name in variables)
