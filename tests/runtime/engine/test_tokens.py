"""Which of a tokenizer's tokens structure a chat."""

from dataclasses import dataclass, field

import pytest

from arriero_runtime.engine.vllm import tokens

BAR = "\uff5c"
TEMPLATE = "{{ '[INST]' + message.content + '<turn>' }}{{ '<|' + message.role + '|>' }}  end"


@dataclass(frozen=True)
class Added:
    """As tokenizers tell of one."""

    content: str
    special: bool

    def __str__(self) -> str:
        return self.content


@dataclass(frozen=True)
class Tokenizer:
    """Names only some of its special tokens, as most do."""

    added_tokens_decoder: dict[int, Added]
    all_special_tokens: list[str] = field(default_factory=lambda: ["<s>"])


def control(*added: Added, template: str = TEMPLATE) -> frozenset[str]:
    return tokens.control(Tokenizer(dict(enumerate(added))), [template])


@pytest.mark.parametrize(
    ("added", "is_control"),
    [
        (Added("<|start_header_id|>", True), True),
        (Added("[INST]", False), True),
        (Added("<turn>", False), True),
        (Added("<|user|>", False), True),
        (Added(f"<{BAR}User{BAR}>", False), True),
        (Added("<table>", False), False),
        (Added("  ", False), False),
        (Added("\u00fc", False), False),
    ],
    ids=str,
)
def test_special_tokens_and_marks_of_the_template_are_control_tokens_and_words_are_none(
    added: Added, is_control: bool
) -> None:
    assert control(added) == {"<s>"} | ({added.content} if is_control else set())


def test_a_tokenizer_that_tells_of_no_added_tokens_has_those_that_it_names() -> None:
    assert tokens.control(type("Other", (), {"all_special_tokens": ["[INST]"]})(), ["<s>"]) == {"[INST]"}
