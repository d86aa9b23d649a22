"""Over how many accelerators a model is spread."""

from arriero_api.accelerators import ACCELERATORS
from arriero_api.numbers import whole
from arriero_operator.render.inputs import Inputs


def whole_accelerators(inputs: Inputs) -> int:
    """Of one pod."""
    return sum(whole(amount) or 0 for name, amount in inputs.limits.items() if name in ACCELERATORS)


def tensor_parallel_size(inputs: Inputs) -> int:
    """What the spec or profile says, else the accelerators that the other two parallel sizes leave for each part."""
    if inputs.tensor_parallel_size is not None:
        return inputs.tensor_parallel_size
    return max(1, whole_accelerators(inputs) // parts(inputs))


def parts(inputs: Inputs) -> int:
    """Into how many parts, of a tensor parallel group each, the accelerators of one pod are divided."""
    return (inputs.pipeline_parallel_size or 1) * (inputs.data_parallel_size or 1)
