"""Tables of what the rounds have found."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tests.bench.parts import FRONT
from tests.bench.ratios import Ratio, ratio
from tests.bench.serving.rounds import Round
from tests.bench.serving.sides import SIDES, Work

Found = Mapping[str, Sequence[Round]]
Value = Callable[[Round], float]
_ROWS: Final[Sequence[tuple[str, str, Value]]] = (
    ("CPU-seconds of all processes per request, ms", "{:.2f}", lambda one: one.all_cpu / one.answer.requests * 1000),
    ("of these the front end's, ms", "{:.2f}", lambda one: one.cpu[FRONT] / one.answer.requests * 1000),
    ("requests per second", "{:.1f}", lambda one: one.answer.requests / one.answer.seconds),
    ("output tokens per second", "{:.0f}", lambda one: one.answer.tokens / one.answer.seconds),
    ("output tokens per CPU-second of the front end", "{:.0f}", lambda one: one.answer.tokens / one.cpu[FRONT]),
    ("time to first token, median, ms", "{:.1f}", lambda one: one.answer.first[0]),
    ("time to first token, p99, ms", "{:.1f}", lambda one: one.answer.first[1]),
    ("between tokens, median, ms", "{:.2f}", lambda one: one.answer.gap[0]),
    ("between tokens, p99, ms", "{:.2f}", lambda one: one.answer.gap[1]),
    ("whole request, median, ms", "{:.1f}", lambda one: one.answer.whole[0]),
    ("the client's own CPU-seconds per request, ms", "{:.2f}", lambda one: one.answer.cpu / one.answer.requests * 1000),
)
_STREAMED_ONLY: Final = ("first token", "between tokens", "output tokens")


def table(work: Work, found: Found) -> str:
    """Medians of each side, and what is judged: ratios of pairs, with 1 for as good as the other side."""
    pairs = min(len(rounds) for rounds in found.values())
    lines = [f"**{work.words}; {pairs} rounds of each side**", ""]
    lines += [f"| medians | {' | '.join(found)} |", "|---|" + "---|" * len(found)]
    for words, form, value in _ROWS:
        if not work.streamed and any(part in words for part in _STREAMED_ONLY):
            continue
        cells = [form.format(statistics.median(map(value, rounds))) for rounds in found.values()]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join([*lines, "", *_judged(found), ""])


def _judged(found: Found) -> list[str]:
    lines = ["| ratio | CPU-seconds | of the front end | throughput | goal | by CPU | by throughput |"]
    lines.append("|---|---|---|---|---|---|---|")
    for name, rounds in found.items():
        for other, goal in SIDES[name].goals.items():
            if other in found:
                lines.append(_judgement(f"{name} to {other}", goal, found[other], rounds))
    # Every other round of a side against those between: what is not 1 here, the machine has done.
    name, rounds = next(iter(found.items()))
    half = len(rounds) // 2
    lines.append(_judgement(f"{name} to itself", None, rounds[0 : 2 * half : 2], rounds[1 : 2 * half : 2]))
    return lines


def _judgement(words: str, goal: float | None, reference: Sequence[Round], measured: Sequence[Round]) -> str:
    both = list(zip(reference, measured, strict=True))
    cpu = ratio([(new.all_cpu, old.all_cpu) for old, new in both])
    front = ratio([(new.cpu[FRONT], old.cpu[FRONT]) for old, new in both])
    # A round of the same work: the inverse of its seconds is its throughput.
    speed = ratio([(new.answer.seconds, old.answer.seconds) for old, new in both])
    cells = [_interval(one) for one in (cpu, front, speed)]
    judged = ["", "", ""] if goal is None else [str(goal), cpu.judged(goal), speed.judged(goal)]
    return f"| {words} | {' | '.join([*cells, *judged])} |"


def _interval(found: Ratio) -> str:
    return f"{found.centre:.3f} ({found.low:.3f} to {found.high:.3f})"
