"""Which extended resources are whole accelerators."""

from typing import Final

ACCELERATORS: Final = (
    "nvidia.com/gpu",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
    "google.com/tpu",
    "habana.ai/gaudi",
    "aws.amazon.com/neuron",
    "huawei.com/Ascend910",
)
"""Extended resources one of which is a whole accelerator. Not slices of one: nothing is split over those."""
