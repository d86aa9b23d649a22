"""Whether the sizes that a spec and its profile ask for fit each other."""

from arriero_operator import quantity
from arriero_operator.render import parallel
from arriero_operator.render.inputs import Inputs


def shared_memory(inputs: Inputs) -> str:
    """What is wrong with /dev/shm, in words; empty: nothing. It counts against the container's memory limit."""
    limit = inputs.limits.get("memory")
    if limit is None or quantity.parse(inputs.shared_memory) <= quantity.parse(limit):
        return ""
    return f"sharedMemory is {inputs.shared_memory}, more than the memory limit of {limit}"


def accelerators(inputs: Inputs) -> str:
    """What is wrong with the parallel sizes, in words; empty: nothing.

    Only whole accelerators can be counted: without one (a CPU, a slice of an accelerator) nothing is said.
    """
    there = parallel.whole_accelerators(inputs)
    tensor, pipeline, data = (
        parallel.tensor_parallel_size(inputs),
        inputs.pipeline_parallel_size or 1,
        inputs.data_parallel_size or 1,
    )
    needed = tensor * pipeline * data
    if not there or needed <= there:
        return ""
    return (
        f"tensorParallelSize {tensor} times pipelineParallelSize {pipeline} times dataParallelSize {data} needs "
        f"{needed} accelerators, and a pod has {there} by resources.limits"
    )
