"""What the operator costs with many models: `python -m tests.bench.fleet --models 200 1000 5000`.

On a control plane of its own, with fake nodes whose pods answer `/status` as ready runtimes do. See docs/benchmarks.md.
"""
