"""Model URIs: what is accepted, what is refused and how."""

import pytest

from arriero_api import uris


@pytest.mark.parametrize(
    ("uri", "scheme", "location", "path"),
    [
        ("hf://Qwen/Qwen2.5-0.5B-Instruct", "hf", "Qwen/Qwen2.5-0.5B-Instruct", ""),
        ("pvc://models/llama/3.2", "pvc", "models", "llama/3.2"),
        ("pvc://models", "pvc", "models", ""),
        ("pvc://models/llama/", "pvc", "models", "llama"),
        ("s3://bucket/a/b/", "s3", "bucket", "a/b"),
        ("gs://bucket", "gs", "bucket", ""),
        ("az://container/model", "az", "container", "model"),
        ("https://host.example:8443/models/tiny", "https", "host.example:8443", "models/tiny"),
        ("https://host/tiny.tar.gz", "https", "host", "tiny.tar.gz"),
        ("oci://ghcr.io/org/tiny:1.0", "oci", "ghcr.io/org/tiny:1.0", ""),
        (f"oci://host:5000/tiny@sha256:{'0' * 64}", "oci", f"host:5000/tiny@sha256:{'0' * 64}", ""),
        ("Llama3.2-3B-Instruct", "hf", "meta-llama/Llama-3.2-3B-Instruct", ""),
        ("Llama-Guard-3-8B:int8", "hf", "meta-llama/Llama-Guard-3-8B-INT8", ""),
        ("file:///opt/models/tiny", "file", "", "/opt/models/tiny"),
    ],
)
def test_a_legal_uri_is_split_into_its_parts(uri: str, scheme: str, location: str, path: str) -> None:
    assert uris.parse(uri) == uris.ModelUri(scheme, location, path)


@pytest.mark.parametrize(
    "uri",
    [
        *("", "Qwen/Qwen2.5", "hf://Qwen", "hf://a/b/c", "s3://UPPER/model", "http://host/model"),
        *("https://user:pw@host/model", "https://host", "oci://image", "Llama9-1B", "file://relative", "pvc:///path"),
    ],
)
def test_an_unknown_form_is_refused_with_the_forms_that_exist(uri: str) -> None:
    with pytest.raises(uris.UriError, match="hf://ORG/NAME"):
        uris.parse(uri)


@pytest.mark.parametrize("uri", ["pvc://models/../secrets", "file:///opt/../etc", "pvc://models/.."])
def test_a_path_that_leaves_its_volume_is_refused(uri: str) -> None:
    with pytest.raises(uris.UriError, match=r"remove '\.\.'"):
        uris.parse(uri)


@pytest.mark.parametrize("uri", ["hf://Qwen/Qwen2.5", "pvc://models/llama", "file:///opt/models"])
def test_the_text_of_a_parsed_uri_is_the_uri(uri: str) -> None:
    assert str(uris.parse(uri)) == uri


@pytest.mark.parametrize("host", ["huggingface.co", "www.huggingface.co", "HuggingFace.co", "hf.co", "hf.co:443"])
def test_a_page_of_the_hub_is_refused_with_the_uri_of_its_repository(host: str) -> None:
    for rest in ("Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct/tree/main"):
        with pytest.raises(uris.UriError, match="write hf://ORG/NAME"):
            uris.parse(f"https://{host}/{rest}")


@pytest.mark.parametrize(
    "uri",
    [
        "https://huggingface.co/org/tiny/resolve/main/tiny.tar.gz",
        "https://huggingface.co.example.org/org/tiny",
        "https://mirror.example/huggingface.co/tiny",
    ],
)
def test_files_of_the_hub_and_other_hosts_are_web_servers(uri: str) -> None:
    assert uris.parse(uri).scheme == uris.HTTPS
