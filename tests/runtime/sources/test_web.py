"""Web servers over TLS: folders by known names or a list of sums, and archives; as whom and by which way."""

import json
import random
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from arriero_runtime.sources import digests
from arriero_runtime.sources.kinds import MODEL
from tests.runtime.sources.support import WEIGHTS, failure, fetch, files, model, secret, sums
from tests.sources.forward import forward_proxy
from tests.sources.web import WebServer, web_server


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("certificates")


@pytest.fixture
def web(tmp_path: Path, certificates: Path) -> Iterator[WebServer]:
    (tmp_path / "site").mkdir()
    with web_server(tmp_path / "site", certificates) as found:
        yield found


@pytest.fixture
def trust(web: WebServer, tmp_path: Path) -> str:
    return secret(tmp_path, "web", ca_crt=web.ca)


async def test_a_folder_is_fetched_by_the_names_that_models_have(web: WebServer, trust: str, tmp_path: Path) -> None:
    model(web.folder / "tiny")
    (web.folder / "tiny" / "README.md").write_text("words")
    folder = await fetch(tmp_path, f"https://{web.host}/tiny", trust)
    assert files(folder) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


async def test_weights_in_parts_are_those_of_the_index(web: WebServer, trust: str, tmp_path: Path) -> None:
    place = model(web.folder / "tiny")
    (place / "model.safetensors").rename(place / "part-1.safetensors")
    (place / "part-2.safetensors").write_bytes(b"two")
    (place / "model.safetensors.index.json").write_text(
        '{"weight_map": {"a": "part-1.safetensors", "b": "part-2.safetensors", "c": "part-2.safetensors"}}'
    )
    found = files(await fetch(tmp_path, f"https://{web.host}/tiny/", trust))
    assert [name for name in found if "part" in name] == ["part-1.safetensors", "part-2.safetensors"]
    (place / "model.safetensors.index.json").write_text("<html>")
    assert (await failure(tmp_path, f"https://{web.host}/tiny", trust)).reason == "ModelIncomplete"


async def test_a_list_of_sums_says_what_there_is_and_is_obeyed(web: WebServer, trust: str, tmp_path: Path) -> None:
    place = model(web.folder / "tiny")
    (place / "special.json").write_text("{}")
    sums(place)
    assert "special.json" in files(await fetch(tmp_path, f"https://{web.host}/tiny", trust))
    (place / "model.safetensors").write_bytes(bytes(len(WEIGHTS)))
    found = await failure(
        tmp_path / "else", f"https://{web.host}/tiny", secret(tmp_path / "else", "web", ca_crt=web.ca)
    )
    assert (found.reason, "model.safetensors" in found.message) == ("ChecksumMismatch", True)
    (place / "special.json").unlink()
    found = await failure(tmp_path, f"https://{web.host}/tiny", trust)
    assert (found.reason, "special.json" in found.message) == ("ModelIncomplete", True)


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "zip"])
async def test_an_archive_is_unpacked(web: WebServer, trust: str, tmp_path: Path, ending: str) -> None:
    model(tmp_path / "packed" / "deep" / "tiny")
    (tmp_path / "packed" / "README.md").write_text("words")
    pack(tmp_path / "packed", web.folder / f"tiny.{ending}")
    folder = await fetch(tmp_path, f"https://{web.host}/tiny.{ending}", trust)
    assert files(folder) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert (folder / "model.safetensors").read_bytes() == WEIGHTS


async def test_an_archive_writes_nothing_outside_of_its_folder(web: WebServer, trust: str, tmp_path: Path) -> None:
    model(tmp_path / "packed")
    with tarfile.open(web.folder / "tiny.tar", "w") as archive:
        for path in sorted((tmp_path / "packed").iterdir()):
            archive.add(path, path.name)
        archive.add(tmp_path / "packed" / "config.json", "../../../evil.json")
        link = tarfile.TarInfo("special_tokens_map.json")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    folder = await fetch(tmp_path, f"https://{web.host}/tiny.tar", trust)
    assert files(folder) == ["config.json", "model.safetensors", "tokenizer.json"]
    assert "evil.json" not in {Path(name).name for name in files(tmp_path)}


async def test_a_sum_beside_an_archive_is_obeyed_and_a_broken_one_named(
    web: WebServer, trust: str, tmp_path: Path
) -> None:
    (web.folder / "tiny.zip").write_bytes(b"no archive")
    found = await failure(tmp_path, f"https://{web.host}/tiny.zip", trust)
    assert (found.reason, "tiny.zip" in found.message) == ("ModelIncomplete", True)
    (web.folder / "tiny.zip.sha256").write_text(f"{'0' * 64}  tiny.zip\n")
    assert (await failure(tmp_path, f"https://{web.host}/tiny.zip", trust)).reason == "ChecksumMismatch"


@pytest.mark.parametrize("ending", ["tar.gz", "zip"])
async def test_an_archive_that_is_damaged_in_the_middle_is_named_as_such(
    web: WebServer, trust: str, tmp_path: Path, ending: str
) -> None:
    model(tmp_path / "packed")
    (tmp_path / "packed" / "model.safetensors").write_bytes(random.Random(1).randbytes(2**20))
    pack(tmp_path / "packed", web.folder / f"tiny.{ending}")
    damaged = bytearray((web.folder / f"tiny.{ending}").read_bytes())
    damaged[len(damaged) // 2 : len(damaged) // 2 + 4096] = b"\xff" * 4096
    (web.folder / f"tiny.{ending}").write_bytes(damaged)
    found = await failure(tmp_path, f"https://{web.host}/tiny.{ending}", trust)
    assert (found.reason, f"tiny.{ending}" in found.message) == ("ModelIncomplete", True)


async def test_an_archive_that_needs_a_password_is_named_as_such(web: WebServer, trust: str, tmp_path: Path) -> None:
    model(tmp_path / "packed")
    pack(tmp_path / "packed", web.folder / "tiny.zip")
    locked = bytearray((web.folder / "tiny.zip").read_bytes())
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := locked.find(mark, at + 1)) >= 0:
            locked[at + flags] |= 1
    (web.folder / "tiny.zip").write_bytes(locked)
    found = await failure(tmp_path, f"https://{web.host}/tiny.zip", trust)
    assert (found.reason, "password" in found.message) == ("ModelIncomplete", True)


async def test_a_fetch_goes_on_where_an_ended_process_has_come_to(web: WebServer, trust: str, tmp_path: Path) -> None:
    model(web.folder / "tiny")
    folder = await fetch(tmp_path, f"https://{web.host}/tiny", trust)
    partial = folder.with_name(f"{folder.name}.partial")
    folder.rename(partial)
    (partial / "model.safetensors").rename(partial / "model.safetensors.part")
    half = len(WEIGHTS) // 2
    (partial / "model.safetensors.part").write_bytes(WEIGHTS[:half])
    web.asked.clear()
    assert (await fetch(tmp_path, f"https://{web.host}/tiny", trust) / "model.safetensors").read_bytes() == WEIGHTS
    assert ("GET", "tiny/model.safetensors", f"bytes={half}-") in web.asked


async def test_a_user_and_a_token_open_what_asks_for_them_and_no_message_shows_them(
    web: WebServer, tmp_path: Path
) -> None:
    model(web.folder / "tiny")
    uri = f"https://{web.host}/tiny"
    web.expect_user("me", "s3cr3t")
    found = await failure(tmp_path, uri, secret(tmp_path, "web", ca_crt=web.ca, username="me", password="wr0ng"))
    assert (found.reason, "wr0ng" in found.to_json()) == ("CredentialsInvalid", False)
    # The Secret is rotated: the next fetch reads it anew.
    assert (await fetch(tmp_path, uri, secret(tmp_path, "web", password="s3cr3t"))).is_dir()
    web.authorization = "Bearer t0ken"
    model(web.folder / "other")
    assert (
        await fetch(tmp_path, f"https://{web.host}/other", secret(tmp_path, "b", ca_crt=web.ca, token="t0ken"))
    ).is_dir()


@pytest.mark.parametrize(
    ("status", "headers", "reason"),
    [
        (401, {}, "CredentialsInvalid"),
        (429, {"Retry-After": "40"}, "SourceRateLimited"),
        (503, {"Retry-After": "40"}, "SourceRateLimited"),
        (500, {}, "SourceUnreachable"),
    ],
)
async def test_each_way_in_which_a_server_refuses_has_its_reason(
    web: WebServer, trust: str, tmp_path: Path, status: int, headers: dict[str, str], reason: str
) -> None:
    model(web.folder / "tiny")
    web.answers["tiny/config.json"] = (status, headers)
    found = await failure(tmp_path, f"https://{web.host}/tiny", trust)
    assert found.reason == reason
    assert found.details.get("retryAfterSeconds") == (40 if headers else None)


async def test_a_server_that_refuses_all_is_not_one_that_has_nothing(
    web: WebServer, trust: str, tmp_path: Path
) -> None:
    model(web.folder / "tiny")
    web.refuses = True
    for place in ("tiny", "tiny.tar"):
        assert (await failure(tmp_path, f"https://{web.host}/{place}", trust)).reason == "Unauthorized"


async def test_a_server_that_refuses_but_one_file_that_it_lacks_is_unauthorized(
    web: WebServer, trust: str, tmp_path: Path
) -> None:
    for name in (digests.SUMS, *MODEL.weights[1:], *MODEL.small):
        web.answers[f"tiny/{name}"] = (403, {})
    assert (await failure(tmp_path, f"https://{web.host}/tiny", trust)).reason == "Unauthorized"


async def test_a_list_of_sums_without_files_of_a_model_is_no_model(web: WebServer, trust: str, tmp_path: Path) -> None:
    (web.folder / "tiny").mkdir()
    (web.folder / "tiny" / digests.SUMS).write_text(f"{'0' * 64}  README.md\n")
    assert (await failure(tmp_path, f"https://{web.host}/tiny", trust)).reason == "ModelNotFound"


async def test_nothing_at_an_address_is_not_found(web: WebServer, trust: str, tmp_path: Path) -> None:
    for name in ("nothing", "nothing.tar"):
        found = await failure(tmp_path, f"https://{web.host}/{name}", trust)
        assert (found.reason, found.remedy) == ("ModelNotFound", "Correct spec.model.uri.")


async def test_a_server_of_an_unknown_authority_is_not_trusted(web: WebServer, tmp_path: Path) -> None:
    model(web.folder / "tiny")
    found = await failure(tmp_path, f"https://{web.host}/tiny")
    assert found.reason == "SourceTlsFailed"
    assert "ca.crt" in found.remedy
    found = await failure(tmp_path, f"https://{web.host}/tiny", secret(tmp_path, "web", ca_crt="no certificate"))
    assert (found.reason, "ca.crt of the Secret web" in found.message) == ("SourceTlsFailed", True)


async def test_the_proxy_of_the_secret_is_used_but_for_hosts_that_need_none(web: WebServer, tmp_path: Path) -> None:
    model(web.folder / "tiny")
    uri = f"https://{web.host}/tiny"
    with forward_proxy("me:pr0xy-pw") as proxy:
        name = secret(tmp_path, "web", ca_crt=web.ca, proxy=proxy.url, noProxy="elsewhere.example")
        assert (await fetch(tmp_path, uri, name)).is_dir()
        assert set(proxy.targets) == {f"CONNECT {web.host}"}
        asked = len(proxy.targets)
        secret(tmp_path, name, noProxy="elsewhere.example, localhost")
        assert (await fetch(tmp_path, uri, name)).is_dir()
        assert len(proxy.targets) == asked
        secret(tmp_path, name, proxy=proxy.url.replace("pr0xy-pw", "wrong-pw"), noProxy="")
        (tmp_path / "cache").rename(tmp_path / "earlier")
        found = await failure(tmp_path, uri, name)
        assert (found.reason, "-pw" in found.to_json()) == ("ProxyFailed", False)
    assert (await failure(tmp_path, uri, name)).reason == "ProxyFailed"


def pack(folder: Path, archive: Path) -> None:
    """All files of the folder, by their paths in it."""
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive, "w") as packed:
            for name in files(folder):
                packed.write(folder / name, name)
        return
    with tarfile.open(archive, "w" if archive.suffix == ".tar" else "w:gz") as tar:
        tar.add(folder, ".")


async def test_code_is_found_by_what_the_configuration_names_and_its_modules_import(
    web: WebServer, trust: str, tmp_path: Path
) -> None:
    place = model(web.folder / "tiny")
    named = {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "someone/else--modeling_far.Far"}
    (place / "config.json").write_text(json.dumps({"auto_map": named}))
    (place / "tokenizer_config.json").write_text('{"auto_map": {"AutoTokenizer": ["tokenization_own.Own", null]}}')
    (place / "configuration_own.py").write_text("from .shared import NAME\nfrom .configuration_own import NAME\n")
    for name in ("shared", "tokenization_own", "unused"):
        (place / f"{name}.py").write_text("NAME = 1\n")

    async def code(allowed: bool) -> list[str]:
        found = await fetch(tmp_path, f"https://{web.host}/tiny", trust, code=allowed)
        return [name for name in files(found) if name.endswith(".py")]

    assert await code(True) == ["configuration_own.py", "shared.py", "tokenization_own.py"]
    assert await code(False) == []
