"""Secrets as the runtime finds them: absent, without a key, rotated; and what is never told."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from arriero_api import credentials
from arriero_runtime import hiding
from arriero_runtime.failing import StartError
from arriero_runtime.sources import access
from tests.hub import Hub
from tests.runtime.sources.support import failure, fetch, model, secret

NAME = "team/model"
URI = f"hf://{NAME}"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    with Hub.start() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.delenv("HF_TOKEN", raising=False)
        found.add_repo(NAME, model(tmp_path / "repo"), gated=True)
        found.add_token("hf_good", opens=[NAME])
        yield found


async def test_the_token_of_a_secret_opens_a_gated_repository(hub: Hub, tmp_path: Path) -> None:
    assert (await fetch(tmp_path, URI, secret(tmp_path, "hub", token=" hf_good\n"))).is_dir()


async def test_a_secret_is_read_anew_for_each_fetch(hub: Hub, tmp_path: Path) -> None:
    name = secret(tmp_path, "hub", token="hf_badbadbad")
    found = await failure(tmp_path, URI, name)
    assert (found.reason, "hf_bad" in found.to_json()) == ("CredentialsInvalid", False)
    secret(tmp_path, name, token="hf_good")
    assert (await fetch(tmp_path, URI, name)).is_dir()


async def test_gated_without_a_token_and_with_one_of_another_account_say_what_to_do(hub: Hub, tmp_path: Path) -> None:
    found = await failure(tmp_path, URI)
    assert (found.reason, "needs a token" in found.message) == ("ModelGated", True)
    hub.add_token("hf_else")
    found = await failure(tmp_path, URI, secret(tmp_path, "hub", token="hf_else"))
    assert (found.reason, "has not accepted the terms" in found.message) == ("ModelGated", True)


async def test_a_secret_that_is_absent_or_says_nothing_is_named_with_the_keys(hub: Hub, tmp_path: Path) -> None:
    found = await failure(tmp_path, URI, "nowhere")
    assert found.reason == "CredentialsMissing"
    assert "Secret nowhere" in found.message
    assert "token" in found.message
    (tmp_path / "credentials" / "nowhere").mkdir(parents=True)
    (tmp_path / "credentials" / "nowhere" / "TOKEN").write_text("hf_good")
    (tmp_path / "credentials" / "nowhere" / "token").write_text("\n")
    assert (await failure(tmp_path, URI, "nowhere")).reason == "CredentialsMissing"


async def test_the_token_of_the_environment_is_not_given_to_another_hub(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_good")
    with Hub.start() as other:
        other.add_repo(NAME, tmp_path / "repo")
        await fetch(tmp_path, URI, secret(tmp_path, "hub", endpoint=other.url))
        assert {seen.token for seen in other.requests} == {""}


@pytest.mark.parametrize(
    ("scheme", "keys", "lacking"),
    [
        ("s3", {"accessKeyId": "a"}, "secretAccessKey"),
        ("s3", {"sessionToken": "a"}, "accessKeyId"),
        ("az", {"accountKey": "a"}, "accountName"),
        ("https", {"username": "a"}, "password"),
    ],
)
def test_half_of_what_goes_together_is_no_use(tmp_path: Path, scheme: str, keys: dict[str, str], lacking: str) -> None:
    secret(tmp_path, "half", **keys)
    with pytest.raises(StartError, match=f"and not {lacking}"):
        access.read(scheme, "half", tmp_path / "credentials")


def test_values_are_not_shown_by_what_holds_them(tmp_path: Path) -> None:
    secret(tmp_path, "hub", token="hf_good")
    assert "hf_good" not in repr(access.read("hf", "hub", tmp_path / "credentials"))


def test_every_key_is_in_the_table_for_people() -> None:
    page = (Path(__file__).parents[3] / "docs" / "operating.md").read_text()
    for scheme in credentials.KEYS:
        for key in credentials.keys(scheme):
            for name in key.names:
                assert f"`{name}`" in page, f"{scheme}: {name}"


def test_what_a_secret_holds_is_hidden_from_then_on_and_addresses_only_where_they_have_a_password(
    tmp_path: Path,
) -> None:
    account = {"type": "service_account", "private_key": "--BEGIN--\nline-one\n", "client_email": "robot@example.org"}
    access.read("gs", secret(tmp_path, "account", serviceAccount=json.dumps(account)), tmp_path / "credentials")
    values = {"token": "bearer-one", "proxy": "http://me:pass-word@proxy.example:3128"}
    access.read("https", secret(tmp_path, "web", **values), tmp_path / "credentials")
    said = "line-one, bearer-one, pass-word; robot@example.org by proxy.example:3128"
    assert hiding.text(said) == "[hidden], [hidden], [hidden]; robot@example.org by proxy.example:3128"
