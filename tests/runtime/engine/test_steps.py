"""Steps of an engine, by which a hung one is known.

FAKE: vLLM's client, as far as it counts requests.
"""

from collections import Counter
from types import SimpleNamespace

from arriero_runtime.engine.vllm.steps import StepCount, held
from arriero_runtime.stuck import Stuck


def test_of_one_engine_every_step_counts() -> None:
    count = StepCount()
    assert count.told({0: 0}) == 0
    for _ in range(3):
        count.record(0)
    assert count.told({0: 2}) == 3
    assert count.told({0: 2}) == 3
    count.record(0)
    assert count.told({0: 0}) == 4


def test_a_part_that_hangs_with_requests_is_not_hidden_by_those_that_work() -> None:
    count, stuck = StepCount(), Stuck(0.0)
    for now in range(100):
        if now < 20:
            count.record(1)
        count.record(0)
        stuck.hear(float(now), 3, count.told({0: 2, 1: 1}))
    assert stuck.seconds(99.0) == 80.0
    count.record(1)
    stuck.hear(100.0, 3, count.told({0: 2, 1: 1}))
    assert stuck.seconds(100.0) == 0.0


def test_a_part_without_requests_makes_no_steps_and_is_not_stuck() -> None:
    count, stuck = StepCount(), Stuck(0.0)
    for now in range(100):
        count.record(0)
        stuck.hear(float(now), 2, count.told({0: 2, 1: 0}))
    assert stuck.seconds(99.0) == 0.0


def test_requests_are_counted_for_each_part() -> None:
    one = SimpleNamespace(
        engine_core=SimpleNamespace(), output_processor=SimpleNamespace(get_num_unfinished_requests=lambda: 5)
    )
    assert held(one) == {0: 5}
    engines = [rank.to_bytes(2, "little") for rank in range(3)]
    core = SimpleNamespace(core_engines=engines, engine_inflight=Counter({engines[0]: 4, engines[2]: 1}))
    assert held(SimpleNamespace(engine_core=core)) == {0: 4, 1: 0, 2: 1}
