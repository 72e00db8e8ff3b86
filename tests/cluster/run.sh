#!/usr/bin/env bash
# The main job and its accidents on a real SLURM, which is started for that and stopped again.
#   run.sh         all of tests/cluster (`make test-slurm`)
#   run.sh quick   the shortest useful part: main job, one more model, a cancelled job, SIGKILL
# Says so plainly, and ends well, where SLURM is not installed and cannot be. Mostly waiting: several tests at once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
if ! "$here/slurm.sh" install; then
  echo "test-slurm: SKIPPED, the tests on a SLURM cluster were not run: there is no SLURM on this machine" >&2
  exit 0
fi
trap '"$here/slurm.sh" stop' EXIT
"$here/slurm.sh" start
eval "$("$here/slurm.sh" env)"
export VLMDX_SLURM=1
# INT lets the fixtures clean up, also where a shell started this in the background and had it ignored.
run() { timeout -k 60 -s INT 3000 env --default-signal=INT .venv/bin/python -m pytest -rP --durations=0 --durations-min=5 "$@"; }
if [ "${1:-}" = quick ]; then
  run -n 3 --dist worksteal tests/cluster/test_slurm.py -k "main_job or one_more_model or cancelled or killed_with_jobs"
else
  run -n 4 --dist worksteal tests/cluster -k "not controller"
  run tests/cluster/test_slurm.py -k controller  # alone: nobody else can submit while it is away
fi
