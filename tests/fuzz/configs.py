"""Config files: the embedded default with values, characters or bytes changed."""

import copy
import json
from collections import OrderedDict
from pathlib import Path

import yaml
from hypothesis import strategies as st
from snakemake.common.configfile import load_configfile
from vlmdx.config import ConfigError, load
from vlmdx.config.faults import faults
from vlmdx.config.files import read_config
from vlmdx.config.jobs import Jobs
from vlmdx.config.root import DEMO

from tests.fuzz.documents import TEXT, changed
from tests.fuzz.outcome import Outcome
from tests.fuzz.rows import written

ROOT = Path(__file__).parents[2]
# Pieces of YAML, and values for which PyYAML lets Python's own exceptions through.
MARKS = [
    *(
        "- ",
        ": ",
        "\n",
        "{",
        "]",
        "&a ",
        "*a",
        "!!python/name:os.system ",
        "# ",
        "? ",
        "<<: *a\n",
        "<<: {a: 1}\n",
        "\t",
    ),
    *("2024-13-45", "2024-01-01T25:61:00Z", '"\\Uffffffff"', '"\\ud800"', "0x_", "0x" + "f" * 6000, "1:99:1e999"),
    *(
        "\t",
        "!!bool x",
        "!!timestamp x",
        "!!binary é",
        "[" * 500,
        "{a: " * 400,
        "\n---\n",
        "__use_yte__: true\n",
        "yes: ",
    ),
]
BYTES = [b"\xff\xfe", b"\xe9", b"\0", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xc2\x85", b"\r", b"\x1b", b"\xf5"]


@st.composite
def configs(draw: st.DrawFn) -> bytes:
    """The embedded default as YAML or JSON with values changed; now and then with characters and bytes changed too."""
    base = {**copy.deepcopy(DEMO), "scoring": {"device": "cpu"}, "reliability": {"bootstrap": 200}}
    document = json.loads(json.dumps(draw(changed(base))))
    if draw(st.integers(0, 5)) == 0:
        text = json.dumps(document, indent=draw(st.sampled_from((None, "\t"))))
    else:
        text = yaml.safe_dump(document, allow_unicode=draw(st.booleans()))
    if draw(st.integers(0, 2)) == 0:
        for _ in range(draw(st.integers(1, 3))):
            place = draw(st.integers(0, len(text)))
            some = draw(TEXT | st.sampled_from(MARKS))
            text = text[:place] + some + text[place + draw(st.integers(0, 3)) :]
    data = text.encode(draw(st.sampled_from(("utf-8",) * 9 + ("latin-1", "utf-16"))), "replace")
    if draw(st.integers(0, 3)) == 0:
        for _ in range(draw(st.integers(1, 3))):
            place = draw(st.integers(0, len(data)))
            data = data[:place] + draw(st.binary(max_size=4) | st.sampled_from(BYTES)) + data[place + 1 :]
    return data


def same(ours: dict, theirs: dict) -> bool:
    """NaN equals itself here; Snakemake reads JSON, and only that, into an OrderedDict."""
    written_out = json.dumps if isinstance(theirs, OrderedDict) else repr
    return written_out(ours) == written_out(theirs)


def check_config(data: bytes) -> Outcome:
    """Read, validated, and asked for what only the file system can tell: accepted, or told line by line.

    What is accepted must be what Snakemake reads, which parses the file by itself when it stands behind `--configfile`.
    """
    file = written("config.yaml", data)
    try:
        raw = read_config(file)
        assert same(raw, load_configfile(file)), "Snakemake reads another config"
        config = load(raw)
    except ConfigError as error:
        lines = str(error).splitlines()
        assert lines and all(line.startswith("config") for line in lines), lines
        return Outcome("refused")
    assert load(config.model_dump()) == config, "the resolved config does not load as itself"
    found = faults(config, Jobs(config, ROOT).here)
    assert all(line.startswith("config: ") and "\n" not in line for line in found), found
    return Outcome("refused" if found else "accepted")
