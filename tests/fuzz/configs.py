"""Config files: the embedded default with values or characters changed."""

import copy
import json
from pathlib import Path

import yaml
from hypothesis import strategies as st
from snakemake.common.configfile import load_configfile
from snakemake.exceptions import WorkflowError
from vlmdx.config import ConfigError, load
from vlmdx.config.jobs import Jobs, faults
from vlmdx.config.root import DEMO

from tests.fuzz.documents import TEXT, changed
from tests.fuzz.outcome import Outcome
from tests.fuzz.rows import written

ROOT = Path(__file__).parents[2]
MARKS = ["- ", ": ", "\n", "{", "]", "&a ", "*a", "!!python/name:os.system ", "# ", "? "]


@st.composite
def configs(draw: st.DrawFn) -> str:
    """YAML of the embedded default with values changed; now and then with characters changed as well."""
    base = {**copy.deepcopy(DEMO), "scoring": {"device": "cpu"}, "reliability": {"bootstrap": 200}}
    text = yaml.safe_dump(json.loads(json.dumps(draw(changed(base)))), allow_unicode=draw(st.booleans()))
    if draw(st.integers(0, 2)) == 0:
        for _ in range(draw(st.integers(1, 3))):
            place = draw(st.integers(0, len(text)))
            some = draw(TEXT | st.sampled_from(MARKS))
            text = text[:place] + some + text[place + draw(st.integers(0, 3)) :]
    return text


def check_config(text: str) -> Outcome:
    """Read as Snakemake reads it, validated, and asked for what only the file system can tell."""
    try:
        raw = load_configfile(written("config.yaml", text.encode("utf-8", "replace")))
    except (WorkflowError, ValueError, OverflowError):
        # Not YAML. For impossible dates and code points PyYAML raises what Snakemake does not catch; this is before any
        # line of ours is run.
        return Outcome("refused")
    try:
        config = load(raw)
    except ConfigError as error:
        lines = str(error).splitlines()
        assert lines and all(line.startswith("config") for line in lines), lines
        return Outcome("refused")
    assert load(config.model_dump()) == config, "the resolved config does not load as itself"
    found = faults(config, Jobs(config, ROOT).here)
    assert all(line.startswith("config: ") and "\n" not in line for line in found), found
    return Outcome("refused" if found else "accepted")
