"""A small project folder of its own, and the command in it."""

import os
import subprocess
import sys
from pathlib import Path

import yaml
from vlmdx.config.root import DEMO

ROOT = Path(__file__).parents[2]


def project(folder: Path, **changes) -> Path:
    """A folder that the command takes for a checkout, with a config of its own."""
    (folder / "config").mkdir(parents=True, exist_ok=True)
    (folder / "Snakefile").touch()
    models = ROOT / "resources"
    if not (folder / "resources").exists():
        (folder / "resources").symlink_to(models)
    # The demo's discovery names its models, which a test may replace.
    (folder / "config" / "config.yaml").write_text(yaml.safe_dump({**DEMO, "discovery": {}, **changes}))
    return folder


def command(*words: str) -> list[str]:
    """The command line of `vlmdx`, by this interpreter."""
    return [sys.executable, "-c", "from vlmdx.cli import app; app()", *words]


def environment(home: Path, url: str = "http://127.0.0.1:9", **extra: str) -> dict[str, str]:
    """A cache of its own, a hub at ``url`` (nobody listens at the default), and no token."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_")}
    hub = {"HF_HOME": str(home), "HF_ENDPOINT": url, "HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
    return kept | hub | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT / "workflow"), "COLUMNS": "200"} | extra


def run(folder: Path, *words: str, env: dict[str, str]) -> subprocess.CompletedProcess:
    """Run `vlmdx` in ``folder``; stdout and stderr together."""
    return subprocess.run(
        command(*words), cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
