"""Object stores: a real S3 server, which has Google's protocol too; Azure's by a stand-in."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from arriero_api import uris
from arriero_runtime.failing import StartError
from arriero_runtime.sources import access, space, stores
from arriero_runtime.sources.kinds import MODEL
from tests.cluster.certificates import Authority
from tests.runtime.sources.support import WEIGHTS, Told, failure, fetch, files, secret
from tests.sources import azure, google
from tests.sources.forward import forward_proxy
from tests.sources.metadata import metadata_server
from tests.sources.objects import KEYS, Objects, s3_server
from tests.sources.refusing import refusing

URI = "s3://models/team/tiny"


@pytest.fixture(scope="module")
def server() -> Iterator[Objects]:
    with s3_server() as found:
        found.put(team__tiny__config_dot_json=b"{}", team__tiny__tokenizer_dot_json=b"{}")
        found.put(team__tiny__model_dot_safetensors=WEIGHTS, team__tiny__README_dot_md=b"words")
        found.put(team__tiny__2__config_dot_json=b"{}", team__tinier__config_dot_json=b"{}")
        yield found


@pytest.fixture
def keys(server: Objects, tmp_path: Path) -> str:
    return secret(tmp_path, "store", **KEYS, endpoint=server.url)


async def test_a_folder_is_listed_and_what_the_engine_needs_is_fetched(keys: str, tmp_path: Path) -> None:
    told = Told()
    folder = await fetch(tmp_path, URI, keys, told)
    assert files(folder) == ["2/config.json", "config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS
    assert told.percents[-1] == 100
    assert "of 2 MiB" in told.words[-1]


async def test_the_keys_may_have_the_names_of_the_stores_own_tools(server: Objects, tmp_path: Path) -> None:
    name = secret(tmp_path, "aws", endpoint=server.url)
    for key, value in (("AWS_ACCESS_KEY_ID", KEYS["accessKeyId"]), ("AWS_SECRET_ACCESS_KEY", "other")):
        (tmp_path / "credentials" / name / key).write_text(f"{value}\n")
    assert (await fetch(tmp_path, URI, name)).is_dir()


async def test_a_fetch_goes_on_where_an_ended_process_has_come_to(keys: str, tmp_path: Path) -> None:
    folder = await fetch(tmp_path, URI, keys)
    partial = folder.with_name(f"{folder.name}.partial")
    folder.rename(partial)
    half = WEIGHTS[: len(WEIGHTS) // 2]
    (partial / "model.safetensors").rename(partial / "model.safetensors.part")
    (partial / "model.safetensors.part").write_bytes(half)
    assert (await fetch(tmp_path, URI, keys) / "model.safetensors").read_bytes() == WEIGHTS


async def test_what_an_ended_process_left_damaged_is_fetched_anew(keys: str, tmp_path: Path) -> None:
    folder = await fetch(tmp_path, URI, keys)
    partial = folder.with_name(f"{folder.name}.partial")
    folder.rename(partial)
    (partial / "model.safetensors").write_bytes(bytes(len(WEIGHTS)))
    assert (await fetch(tmp_path, URI, keys) / "model.safetensors").read_bytes() == WEIGHTS


async def test_other_content_lies_elsewhere_and_the_same_is_not_fetched_again(
    server: Objects, keys: str, tmp_path: Path
) -> None:
    server.put(other__config_dot_json=b"{}", other__model_dot_safetensors=b"one")
    first = await fetch(tmp_path, "s3://models/other", keys)
    mark = (first / "model.safetensors").stat().st_ino
    assert await fetch(tmp_path, "s3://models/other", keys) == first
    assert (first / "model.safetensors").stat().st_ino == mark
    server.put(other__model_dot_safetensors=b"two")
    second = await fetch(tmp_path, "s3://models/other", keys)
    assert second != first
    assert (second / "model.safetensors").read_bytes() == b"two"


async def test_a_list_of_sums_in_the_folder_is_obeyed(server: Objects, keys: str, tmp_path: Path) -> None:
    server.put(summed__config_dot_json=b"{}", summed__model_dot_safetensors=b"weights")
    server.put_at("summed/SHA256SUMS", f"{'0' * 64}  model.safetensors\n".encode())
    found = await failure(tmp_path, "s3://models/summed", keys)
    assert (found.reason, "model.safetensors" in found.message) == ("ChecksumMismatch", True)
    server.put_at("summed/SHA256SUMS", b"nonsense\n")
    found = await failure(tmp_path, "s3://models/summed", keys)
    assert (found.reason, "SHA256SUMS" in found.message) == ("ModelIncomplete", True)


@pytest.mark.parametrize(
    ("uri", "reason"),
    [
        ("s3://models/nothing", "ModelNotFound"),
        ("s3://no-bucket/nothing", "ModelNotFound"),
        ("s3://models/team/tinier", "ModelIncomplete"),
    ],
)
async def test_what_is_not_there_is_named(keys: str, tmp_path: Path, uri: str, reason: str) -> None:
    found = await failure(tmp_path, uri, keys)
    assert (found.reason, uri in found.message) == (reason, True)
    assert "private repository" not in found.remedy
    assert KEYS["secretAccessKey"] not in found.to_json()


async def test_a_model_larger_than_the_cache_is_refused_before_a_byte_is_fetched(
    keys: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(space.LIMIT_VARIABLE, "1048576")
    assert (await failure(tmp_path, URI, keys)).reason == "CacheTooSmall"


async def test_a_store_that_is_not_there_is_unreachable_and_what_it_gave_before_is_used(
    keys: str, tmp_path: Path
) -> None:
    folder = await fetch(tmp_path, URI, keys)
    secret(tmp_path, keys, endpoint="http://127.0.0.1:9")
    assert await fetch(tmp_path, URI, keys) == folder
    found = await failure(tmp_path, "s3://models/team", keys)
    assert (found.reason, "http://127.0.0.1:9" in found.message) == ("SourceUnreachable", True)


async def test_a_store_is_reached_through_the_proxy_of_the_secret(server: Objects, tmp_path: Path) -> None:
    with forward_proxy("me:pr0xy-pw") as proxy:
        name = secret(tmp_path, "store", **KEYS, endpoint=server.url, proxy=proxy.url)
        assert (await fetch(tmp_path, URI, name)).is_dir()
        assert any(server.url in target for target in proxy.targets)
        secret(tmp_path, name, proxy=proxy.url.replace("pr0xy-pw", "wrong-pw"))
        found = await failure(tmp_path, "s3://models/team", name)
    assert found.reason == "ProxyFailed"
    assert "-pw" not in found.to_json()
    found = await failure(tmp_path, "s3://models/team", name)
    assert found.reason == "ProxyFailed"


async def test_a_transfer_that_breaks_off_is_resumed_and_given_up_when_nothing_more_comes(
    server: Objects, tmp_path: Path
) -> None:
    with forward_proxy() as proxy:
        name = secret(tmp_path, "store", **KEYS, endpoint=server.url, proxy=proxy.url)
        proxy.cuts = [("model.safetensors", len(WEIGHTS) // 2)]
        folder = await fetch(tmp_path, URI, name)
        assert (folder / "model.safetensors").read_bytes() == WEIGHTS
        assert len([target for target in proxy.targets if target.endswith("model.safetensors")]) == 2
        (tmp_path / "cache").rename(tmp_path / "earlier")
        # Not even the head of an answer comes.
        proxy.cuts = [("model.safetensors", 100)] * 50
        found = await failure(tmp_path, URI, name)
    assert found.reason in ("DownloadTruncated", "DownloadFailed")
    assert URI in found.message


async def test_a_store_over_tls_is_trusted_by_the_authority_of_the_secret_alone(tmp_path: Path) -> None:
    (tmp_path / "certificates").mkdir()
    with s3_server(tmp_path / "certificates") as store:
        store.put(secure__config_dot_json=b"{}", secure__model_dot_safetensors=b"weights")
        name = secret(tmp_path, "store", **KEYS, endpoint=store.url)
        found = await failure(tmp_path, "s3://models/secure", name)
        assert (found.reason, "ca.crt" in found.remedy) == ("SourceTlsFailed", True)
        # A bundle of several: the second is the one.
        other = Authority(tmp_path / "other")
        (tmp_path / "other").mkdir()
        other.server("other", ("localhost",))
        secret(tmp_path, name, ca_crt=other.certificate.read_text() + store.ca)
        assert files(await fetch(tmp_path, "s3://models/secure", name)) == ["config.json", "model.safetensors"]


async def test_google_stores_are_listed_and_read(server: Objects, tmp_path: Path) -> None:
    for path in ("2/config.json", "config.json", "tokenizer.json", "model.safetensors"):
        server.publish(f"team/tiny/{path}")
    name = secret(tmp_path, "google", endpoint=server.url)
    folder = await fetch(tmp_path, "gs://models/team/tiny", name)
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


async def test_a_google_store_knows_the_service_account_of_the_secret(server: Objects, tmp_path: Path) -> None:
    for path in ("2/config.json", "config.json", "tokenizer.json", "model.safetensors"):
        server.publish(f"team/tiny/{path}")
    with google.google_store() as store:
        name = secret(tmp_path, "google", serviceAccount=google.account(store.key), endpoint=store.url)
        folder = await fetch(tmp_path, "gs://models/team/tiny", name)
        assert (folder / "model.safetensors").read_bytes() == WEIGHTS
        other = rsa.generate_private_key(65537, 2048)
        secret(tmp_path, name, serviceAccount=google.account(other))
        found = await failure(tmp_path, "gs://models/team", name)
        assert (found.reason, "PRIVATE KEY" in found.to_json()) == ("CredentialsInvalid", False)
        found = await failure(tmp_path, "gs://models/team", secret(tmp_path, "nobody", endpoint=store.url))
        assert found.reason == "CredentialsInvalid"


UNUSABLE = (
    ("gs://models/tiny", {"serviceAccount": '"s3cr3t-words"'}, "serviceAccount is the JSON file"),
    ("gs://models/tiny", {"serviceAccount": '{"client_email": "s3cr3t"}'}, "serviceAccount is the JSON file"),
    ("gs://models/tiny", {"serviceAccount": "s3cr3t", "endpoint": "http://127.0.0.1:9"}, "serviceAccount is the"),
    ("az://models/tiny", {"accountName": "a", "accountKey": "s3cr3t!"}, "accountKey is in base64"),
    ("az://models/tiny", {"accountName": "a", "sasToken": "s3cr3t"}, "sv=…&sig=…"),
    ("s3://models/tiny", {"endpoint": "http://x", "proxy": "s3cr3t words"}, "proxy are URLs"),
)


@pytest.mark.parametrize(("uri", "keys", "remedy"), UNUSABLE)
async def test_keys_that_cannot_be_read_are_named_and_not_quoted(
    tmp_path: Path, uri: str, keys: dict[str, str], remedy: str
) -> None:
    found = await failure(tmp_path, uri, secret(tmp_path, "odd", **keys))
    assert found.reason == "CredentialsInvalid"
    assert "the Secret odd" in found.message and all(key in found.message for key in keys)
    assert remedy in found.remedy
    assert "s3cr3t" not in found.to_json()


async def test_an_authority_that_is_none_is_told_before_the_store_is_asked(tmp_path: Path) -> None:
    found = await failure(tmp_path, URI, secret(tmp_path, "odd", **KEYS, ca_crt="nonsense"))
    assert (found.reason, "ca.crt" in found.message) == ("SourceTlsFailed", True)


@pytest.mark.parametrize("keys", [{"accountKey": azure.KEY}, {"sasToken": azure.SAS}, {"sasToken": f"?{azure.SAS}"}])
async def test_a_storage_account_of_azure_is_listed_and_read(tmp_path: Path, keys: dict[str, str]) -> None:
    blobs = {"config.json": b"{}", "tokenizer.json": b"{}", "model.safetensors": WEIGHTS, "2/config.json": b"{}"}
    held = {f"team/ti_ny/{path}": content for path, content in blobs.items()}
    with azure.azure_account({"things": held}) as account:
        name = secret(tmp_path, "azure", accountName=azure.ACCOUNT, endpoint=account.url, **keys)
        folder = await fetch(tmp_path, "az://things/team/ti_ny", name)
        assert files(folder) == ["2/config.json", "config.json", "model.safetensors", "tokenizer.json"]
        assert (folder / "model.safetensors").read_bytes() == WEIGHTS
        partial = folder.with_name(f"{folder.name}.partial")
        folder.rename(partial)
        (partial / "model.safetensors").rename(partial / "model.safetensors.part")
        (partial / "model.safetensors.part").write_bytes(WEIGHTS[:4096])
        assert (await fetch(tmp_path, "az://things/team/ti_ny", name) / "model.safetensors").read_bytes() == WEIGHTS
        assert (await failure(tmp_path, "az://other/team", name)).reason == "ModelNotFound"


@pytest.mark.parametrize("keys", [{"accountKey": "b3RoZXI="}, {"sasToken": "sv=1&sig=b3RoZXI%3D"}, {}])
async def test_azure_does_not_know_other_keys(tmp_path: Path, keys: dict[str, str]) -> None:
    with azure.azure_account({"things": {"tiny/config.json": b"{}"}}) as account:
        name = secret(tmp_path, "azure", accountName=azure.ACCOUNT, endpoint=account.url, **keys)
        found = await failure(tmp_path, "az://things/tiny", name)
    assert (found.reason, "b3RoZXI" in found.to_json()) == ("CredentialsInvalid", False)


def test_a_storage_account_must_be_named(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="storage account") as caught:
        stores.look_up(uris.parse("az://container/tiny"), access.Access("az"), MODEL)
    assert "accountName" in caught.value.failure.remedy


ANSWERS = {
    401: ("", "CredentialsInvalid"),
    403: ("AccessDenied", "Unauthorized"),
    404: ("NoSuchBucket", "ModelNotFound"),
    429: ("", "SourceRateLimited"),
    503: ("SlowDown", "SourceRateLimited"),
    500: ("InternalError", "SourceUnreachable"),
}


@pytest.mark.parametrize(
    ("code", "word", "reason"),
    [
        *((code, word, reason) for code, (word, reason) in ANSWERS.items()),
        (403, "InvalidAccessKeyId", "CredentialsInvalid"),
        (403, "SignatureDoesNotMatch", "CredentialsInvalid"),
        (403, "AuthenticationFailed", "CredentialsInvalid"),
        (301, "PermanentRedirect", "ModelNotFound"),
    ],
)
async def test_each_way_in_which_a_store_refuses_has_its_reason(
    tmp_path: Path, code: int, word: str, reason: str
) -> None:
    body = f"<Error><Code>{word}</Code><Message>no</Message></Error>" if word else ""
    with refusing(code, body) as url:
        name = secret(tmp_path, "store", **KEYS, endpoint=url)
        found = await failure(tmp_path, URI, name)
    assert found.reason == reason
    assert URI in found.message or reason == "ProxyFailed"
    assert KEYS["secretAccessKey"] not in found.to_json()


async def test_the_identity_of_a_metadata_server_is_used_where_it_is_asked_for_and_not_else(
    server: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
    with metadata_server() as cloud:
        monkeypatch.setenv("AWS_METADATA_ENDPOINT", f"http://{cloud.host}")
        with suppress(StartError):  # as nobody, who may not read it
            await fetch(tmp_path / "nobody", URI)
        assert cloud.asked == []
        monkeypatch.setenv("AWS_SKIP_SIGNATURE", "false")
        assert (await fetch(tmp_path, URI)).is_dir()
        assert "/latest/meta-data/iam/security-credentials/role" in cloud.asked


@pytest.mark.parametrize(
    ("uri", "variables"),
    [
        (URI, {"AWS_SKIP_SIGNATURE": "false", "AWS_METADATA_ENDPOINT": "http://{host}"}),
        (
            "gs://models/team",
            {"GOOGLE_SKIP_SIGNATURE": "false", "GCE_METADATA_HOST": "{host}", "GCE_METADATA_ROOT": "{host}"},
        ),
    ],
)
async def test_a_metadata_server_that_has_no_identity_to_give_is_told_apart_from_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str, variables: dict[str, str]
) -> None:
    with metadata_server(knows=False) as cloud:
        for name, value in variables.items():
            monkeypatch.setenv(name, value.format(host=cloud.host))
        found = await failure(tmp_path, uri)
    assert cloud.asked
    assert (found.reason, "metadata server" in found.message) == ("CredentialsMissing", True)
