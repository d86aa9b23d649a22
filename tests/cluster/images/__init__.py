"""The product's container images for the local cluster, built and loaded without a container engine.

A layer is a folder in the user's cache, and containerd gets it by hard links as a snapshot of its own store: no
archive of several gigabytes is ever written, and a change of the product's code costs seconds.
"""

from tests.cluster.images.build import Images, build_and_load

__all__ = ["Images", "build_and_load"]
