"""From what a Secret and the pod's environment say to a client of an object store."""

import json
import os
from datetime import timedelta
from typing import Any, Final

from obstore.store import AzureStore, GCSStore, S3Store

from arriero_api import credentials, uris
from arriero_api.contract import Phase
from arriero_api.uris import ModelUri
from arriero_runtime.failing import StartError, start_error
from arriero_runtime.sources.access import Access
from arriero_runtime.sources.connection import trusting

S3_ENDPOINT: Final = "AWS_ENDPOINT_URL"
_RETRIES: Final = {"max_retries": 3, "retry_timeout": timedelta(seconds=30)}
_S3_CHAIN: Final = ("AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ACCESS_KEY_ID")
_GS_CHAIN: Final = ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT")
_AZ_CHAIN: Final = ("AZURE_FEDERATED_TOKEN_FILE", "AZURE_STORAGE_ACCOUNT_KEY", "AZURE_STORAGE_SAS_TOKEN")
"""What a cluster's own identity service puts into pods; without it and a Secret, requests are not signed."""
UNSIGNED: Final = {uris.S3: "AWS_SKIP_SIGNATURE", uris.GS: "GOOGLE_SKIP_SIGNATURE", uris.AZ: "AZURE_SKIP_SIGNATURE"}
"""The library's own variables. Where one is "false", requests are signed as whom the cloud's metadata server says that
the pod or its node is. Never unasked: it may have rights that were not meant for models, and elsewhere none answers."""
_FORMS: Final = {
    uris.S3: "",
    uris.GS: "serviceAccount is the JSON file of a service account's key, as Google Cloud gives it; ",
    uris.AZ: "accountKey is in base64, sasToken has the form sv=…&sig=…; ",
}
"""How the keys of a Secret are written that are more than words."""

Store = S3Store | GCSStore | AzureStore


def client(uri: ModelUri, access: Access) -> Store:
    """For the bucket or container of `uri`; asks nobody. Raises StartError for keys that cannot be used."""
    trusting(access)
    try:
        return _client(uri, access)
    except StartError:
        raise
    except Exception as error:
        # Their words may quote what they were given.
        said = f"the Secret {access.secret}" if access.secret else "the pod's environment"
        held = ", ".join(sorted(access.values))
        words = f"What {said} holds for {uri} cannot be read{f' ({held})' if held else ''}."
        remedy = f"Correct it: {_FORMS[uri.scheme]}endpoint and proxy are URLs."
        raise start_error("CredentialsInvalid", words, Phase.RESOLVING, remedy=remedy) from error


def _client(uri: ModelUri, access: Access) -> Store:
    endpoint = access.value("endpoint")
    connection = {
        "connect_timeout": timedelta(seconds=10),
        "timeout": timedelta(days=1),
        "read_timeout": timedelta(seconds=20),
        "allow_http": endpoint.startswith("http://") or os.environ.get(S3_ENDPOINT, "").startswith("http://"),
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
    if "access_key_id" not in config and not _identity(uris.S3, _S3_CHAIN):
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
    if not access.value("serviceAccount") and not _identity(uris.GS, _GS_CHAIN):
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
    if "account_key" not in config and "sas_key" not in config and not _identity(uris.AZ, _AZ_CHAIN):
        config["skip_signature"] = True
    return AzureStore(container, config=config, **options)  # type: ignore[arg-type]


def _identity(scheme: str, variables: tuple[str, ...]) -> bool:
    asked = os.environ.get(UNSIGNED[scheme], "").lower() in ("false", "0")
    return asked or any(os.environ.get(name) for name in variables)
