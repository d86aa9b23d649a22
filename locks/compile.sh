#!/usr/bin/env bash
# Compiles every lock from pyproject.toml and locks/*.in: hashes, and no index named in the files.
set -euo pipefail
cd "$(dirname "$0")/.."
uv="${UV:-.venv/bin/uv}"
compile=("$uv" pip compile --quiet --python-version 3.11 --generate-hashes --no-emit-index-url --no-header)

"${compile[@]}" --override locks/dev.overrides.txt --extra operator --extra runtime pyproject.toml locks/dev.in -o locks/dev.txt
"${compile[@]}" --extra operator pyproject.toml -o locks/operator.txt
"${compile[@]}" --override locks/runtime-cpu.overrides.txt --extra runtime pyproject.toml locks/runtime-cpu.in -o locks/runtime-cpu.txt
"${compile[@]}" --no-deps -c locks/runtime-cpu.txt locks/model-tools.in -o locks/model-tools.txt
"${compile[@]}" --no-deps -c locks/runtime-cpu.txt locks/vision.in -o locks/vision.txt
"${compile[@]}" locks/build.in -o locks/build.txt
"${compile[@]}" --no-deps -c locks/runtime-cpu.txt locks/runtime-gpu.in -o locks/runtime-gpu.txt
"${compile[@]}" locks/clients.in -o locks/clients.txt
"${compile[@]}" locks/clients-newest.in -o locks/clients-newest.txt
"${compile[@]}" locks/schemathesis.in -o locks/schemathesis.txt
