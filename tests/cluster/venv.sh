#!/usr/bin/env bash
# Makes .venv from the developer lock and installs the project editable. Called by make, with a Python as argument.
set -euo pipefail
cd "$(dirname "$0")/../.."
python="${1:-python3}"

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
  echo "Arriero needs Python 3.11 or newer; '$python' is not. Set PYTHON=/path/to/python3.11." >&2
  exit 2
}
if ! "$python" -c 'import ensurepip' 2>/dev/null; then
  if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "Installing python3-venv, which $python lacks"
    apt-get update -qq && apt-get install -y -qq --no-install-recommends python3-venv >/dev/null
  else
    echo "Python's venv module is incomplete: install the package python3-venv." >&2
    exit 2
  fi
fi
echo "Making .venv from locks/dev.txt"
[ -x .venv/bin/python ] || "$python" -m venv .venv
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/dev.txt
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
touch .venv/.ready
