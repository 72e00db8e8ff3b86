#!/usr/bin/env bash
# `make test-slurm`: the main job and the accidents on a real SLURM. Prints plainly when it cannot.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
if ! "$here/slurm.sh" install; then
  echo "test-slurm: skipped, no SLURM on this machine" >&2
  exit 0
fi
trap '"$here/slurm.sh" stop' EXIT
"$here/slurm.sh" start
eval "$("$here/slurm.sh" env)"
VLMDX_SLURM=1 .venv/bin/python -m pytest -s -v tests/cluster "$@"
