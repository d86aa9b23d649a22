"""Over how many accelerators a model is spread."""

from typing import Final

from arriero_operator.render.inputs import Inputs

ACCELERATORS: Final = frozenset(
    {
        "nvidia.com/gpu",
        "amd.com/gpu",
        "gpu.intel.com/i915",
        "gpu.intel.com/xe",
        "google.com/tpu",
        "habana.ai/gaudi",
        "aws.amazon.com/neuron",
        "huawei.com/Ascend910",
    }
)
"""Extended resources one of which is a whole accelerator. Not slices of one: nothing is split over those."""


def whole_accelerators(inputs: Inputs) -> int:
    """Of one pod."""
    return sum(int(amount) for name, amount in inputs.limits.items() if name in ACCELERATORS and amount.isdigit())


def tensor_parallel_size(inputs: Inputs) -> int:
    """What the spec or profile says, else the accelerators that the other two parallel sizes leave for each part."""
    if inputs.tensor_parallel_size is not None:
        return inputs.tensor_parallel_size
    return max(1, whole_accelerators(inputs) // parts(inputs))


def parts(inputs: Inputs) -> int:
    """Into how many parts, of a tensor parallel group each, the accelerators of one pod are divided."""
    return (inputs.pipeline_parallel_size or 1) * (inputs.data_parallel_size or 1)
