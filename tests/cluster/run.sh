#!/usr/bin/env bash
# The main job and its accidents on a real SLURM, which is started for that and stopped again.
#   run.sh         all of tests/cluster (`make test-slurm`)
#   run.sh quick   the shortest useful part, for every change: main job, one more model, a cancelled job, SIGKILL
# Says so plainly, and ends well, where SLURM is not installed and cannot be. Mostly waiting: several tests at once.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
skipped() {
  echo "test-slurm: SKIPPED, the tests on a SLURM cluster were not run: $1" >&2
  exit 0
}
"$here/slurm.sh" install || skipped "there is no SLURM on this machine"
trap '"$here/slurm.sh" stop' EXIT
if ! "$here/slurm.sh" start; then
  [ "${1:-}" = quick ] && skipped "SLURM is installed but does not start here"
  exit 1
fi
eval "$("$here/slurm.sh" env)"
export VLMDX_SLURM=1
# INT lets the fixtures clean up, also where a shell started this in the background and had it ignored.
run() { timeout -k 60 -s INT "$1" env --default-signal=INT .venv/bin/python -m pytest -rP --durations=0 --durations-min=5 "${@:2}"; }
if [ "${1:-}" = quick ]; then
  run 1500 -n 3 --dist worksteal tests/cluster/test_slurm.py -k "main_job or one_more_model or cancelled or killed_with_jobs"
else
  run 3000 -n 4 --dist worksteal tests/cluster
fi
