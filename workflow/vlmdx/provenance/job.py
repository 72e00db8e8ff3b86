"""Run a rule's script: its log, its record, one line when it is done, one line instead of a traceback if it fails.

The log file gets everything that is printed and the whole traceback; the terminal gets progress bars as well, which
would only fill a log.
"""

import io
import os
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO

from vlmdx.provenance.record import forget_record, write_record


def run_job(main: Callable[[Any], None], snakemake: Any) -> None:
    """Call ``main(snakemake)`` as a rule's script, then record what it wrote.

    Raises:
        SystemExit: with status 1 if ``main`` raised; the message is on the terminal, the traceback in the log.
    """
    label = " ".join([snakemake.rule, *dict(snakemake.wildcards.items()).values()])
    log = Path(snakemake.log[0])
    log.parent.mkdir(parents=True, exist_ok=True)
    began, started = time.monotonic(), datetime.now(UTC)
    with log.open("w", encoding="utf-8") as file:
        sys.stdout, sys.stderr = _Tee(sys.stdout, file), _Tee(sys.stderr, file)
        try:
            forget_record(snakemake)
            main(snakemake)
            write_record(snakemake, started, time.monotonic() - began)
        except Exception as error:
            file.write(traceback.format_exc())
            print(f"{label}: {error}\n  (traceback: {log})", file=sys.__stderr__)
            sys.exit(1)
        finally:
            sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
    print(f"done  {label}  {time.monotonic() - began:.1f} s", file=sys.stderr)


def share_package_path() -> None:
    """Let scripts import the package of this checkout, installed or not; processes started from here inherit it."""
    ours = str(Path(__file__).resolve().parents[2])
    others = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p and p != ours]
    os.environ["PYTHONPATH"] = os.pathsep.join([ours, *others])


class _Tee(io.TextIOBase):
    """Writes to the terminal and to the log; what rewrites its line (a progress bar) goes to the terminal alone."""

    def __init__(self, terminal: TextIO, log: TextIO) -> None:
        self._terminal, self._log = terminal, log

    def write(self, text: str) -> int:
        if "\r" not in text and not text.startswith("\x1b["):
            self._log.write(text)
        return self._terminal.write(text)

    def flush(self) -> None:
        self._log.flush()
        self._terminal.flush()

    def isatty(self) -> bool:
        return self._terminal.isatty()

    def fileno(self) -> int:
        return self._terminal.fileno()
