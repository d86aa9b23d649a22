"""What the resource asks of the engine beyond its flags, in the words of vLLM."""

import argparse
from dataclasses import dataclass
from typing import Self

from arriero_api import pod
from arriero_api.contract import Phase
from arriero_runtime.cli import ServeOptions
from arriero_runtime.failing import start_error


@dataclass(frozen=True, slots=True)
class Wishes:
    """Parsers: empty ones are left to the loader, NO_PARSER is none. `max_tokens` 0 is no cap."""

    trust_remote_code: bool = False
    tool_call_parser: str = ""
    reasoning_parser: str = ""
    max_tokens: int = 0

    @classmethod
    def of(cls, options: ServeOptions) -> Self:
        """Those of a command line."""
        return cls(options.trust_remote_code, options.tool_call_parser, options.reasoning_parser, options.max_tokens)

    @property
    def flags(self) -> list[str]:
        """Flags of vLLM, which checks the names."""
        found = ["--trust-remote-code"] if self.trust_remote_code else []
        if self.tool_call_parser not in ("", pod.NO_PARSER):
            found += ["--enable-auto-tool-choice", f"--tool-call-parser={self.tool_call_parser}"]
        if self.reasoning_parser not in ("", pod.NO_PARSER):
            found.append(f"--reasoning-parser={self.reasoning_parser}")
        return found

    def cap(self, args: argparse.Namespace) -> None:
        """Put the cap of tokens into vLLM's arguments. Raises StartError where the flags have one of their own."""
        given = dict(args.override_generation_config or {})
        if "max_new_tokens" in given:
            words = "--override-generation-config: max_new_tokens: use spec.serving.maxTokens"
            raise start_error("InvalidArguments", words, Phase.RESOLVING)
        if self.max_tokens:
            # vLLM takes this value for all answers: as the default, and as the most that a request may ask for.
            args.override_generation_config = given | {"max_new_tokens": self.max_tokens}
