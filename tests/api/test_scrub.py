"""What is hidden in a message, and what is left as it is."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from arriero_api.scrub import HIDDEN, scrub

PIECES = (
    *("token", "hf_token", "eos_token", "api-key", "password", "authorization", "bearer", "basic", "none", HIDDEN),
    *("hf_abcdefgh1", "sk-abcdefgh1", "https://", "://", "a", "2", "[", "]", "hidden"),
    *("=", ":", " ", "'", '"', ".", "…", ",", "?", "/", "@", "-", "_", ")", "}", "<", "\n"),
)
TEXTS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join) | st.text(max_size=30)


@given(text=TEXTS, secrets=st.frozensets(st.sampled_from(("plain-secret", "hidden", "[hidden]", "a"))))
@example(text="--hf-token=2048.", secrets=frozenset())
@example(text="://token=a/b)@", secrets=frozenset())
def test_what_is_scrubbed_stays_as_it_is_when_it_is_scrubbed_again(text: str, secrets: frozenset[str]) -> None:
    once = scrub(text, secrets)
    assert scrub(once, secrets) == once


@pytest.mark.parametrize(
    "text",
    [
        "vLLM does not know these arguments: --max-num-batched-token=2048",
        "--max-num-batched-tokens=2048 is below max_model_len",
        "eos_token=</s>",
        "pad_token: 2",
        "{'bos_token': '<s>', 'unk-token': '<unk>', \"mask_token\": \"<mask>\"}",
        "time per_output_token: 12",
    ],
)
def test_counts_of_tokens_and_the_tokens_of_a_tokenizer_are_told(text: str) -> None:
    assert scrub(text) == text


@pytest.mark.parametrize(
    ("text", "scrubbed"),
    [
        ("got --hf-token=abc.def.", f"got --hf-token={HIDDEN}."),
        ("HF_TOKEN: abc", f"HF_TOKEN: {HIDDEN}"),
        ("{'access_token': 'abc', 'x': 1}", f"{{'access_token': '{HIDDEN}', 'x': 1}}"),
        ("eos_token_secret=abc", f"eos_token_secret={HIDDEN}"),
        ("pad-token-password=abc", f"pad-token-password={HIDDEN}"),
        (f"token={HIDDEN}abc", f"token={HIDDEN}"),
        ("Authorization: Bearer abc.def. Ask again.", f"Authorization: {HIDDEN} {HIDDEN}. Ask again."),
    ],
)
def test_the_value_of_a_secret_is_hidden_and_nothing_beside_it(text: str, scrubbed: str) -> None:
    assert scrub(text) == scrubbed
