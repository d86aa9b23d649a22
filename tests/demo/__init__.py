"""The product's main job on a local cluster, for people to watch: `python -m tests.demo`, and `… down` to remove it."""
