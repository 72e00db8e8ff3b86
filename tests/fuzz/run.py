"""Fuzz the doors through which strangers' files come in: pictures, rows, config. Seeded and bounded.

    python -m tests.fuzz.run                       20,000 inputs
    python -m tests.fuzz.run --inputs 500 --seed 3 --target jsonl

Prints one line per target and exits with 1 if there was a finding, whose smallest input and traceback come first.
"""

import argparse
import os
import sys
import time
import traceback
from collections import Counter
from contextlib import redirect_stderr
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from tests.fuzz.targets import TARGETS, Target

CHUNK = 250  # examples per run of hypothesis, whose memory of what it drew grows with each


def fuzz(target: Target, inputs: int, start: int) -> tuple[Counter, BaseException | None]:
    """Feed ``inputs`` drawn inputs to one target; counts of what became of them, and the finding that ended it."""
    counts: Counter = Counter()

    def once(value):
        outcome = target.check(value)
        counts["inputs"] += 1
        counts[outcome.kind] += 1
        counts["rows"] += outcome.rows
        counts["items"] += outcome.items

    round_ = 0
    while counts["inputs"] < inputs:
        size = min(CHUNK, inputs - counts["inputs"])
        how = settings(
            max_examples=size,
            database=None,
            deadline=None,
            phases=(Phase.generate, Phase.shrink),
            suppress_health_check=list(HealthCheck),
        )
        try:
            seed(start * 1000 + round_)(how(given(target.strategy)(once)))()
        except Exception as error:
            return counts, error
        round_ += 1
    return counts, None


def main() -> int:
    """Run the targets; 1 if any had a finding."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=20_000, help="over all targets, by their shares")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", choices=sorted(TARGETS), help="only this one, with all inputs")
    given_ = parser.parse_args()
    chosen = {given_.target: TARGETS[given_.target]} if given_.target else TARGETS
    total, findings = Counter(), 0
    print(f"{'target':<10} {'inputs':>7} {'accepted':>9} {'refused':>8} {'rows':>7} {'items':>7} {'seconds':>8}")
    for name, target in chosen.items():
        inputs = given_.inputs if given_.target else given_.inputs * target.share // 100
        began = time.monotonic()
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere):  # progress bars
            counts, error = fuzz(target, inputs, given_.seed)
        if error is not None:
            findings += 1
            print(f"{name}: FINDING", *traceback.format_exception(error), sep="\n")
        total += counts
        print(_line(name, counts, time.monotonic() - began), flush=True)
        total["seconds"] += time.monotonic() - began
    print(_line("all", total, total["seconds"]), f"{findings} findings", sep="  ")
    return int(findings > 0)


def _line(name: str, counts: Counter, seconds: float) -> str:
    return (
        f"{name:<10} {counts['inputs']:>7} {counts['accepted']:>9} {counts['refused']:>8} {counts['rows']:>7} "
        f"{counts['items']:>7} {seconds:>8.0f}"
    )


if __name__ == "__main__":
    sys.exit(main())
