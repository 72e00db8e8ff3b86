"""A small, fixed slice of the fuzz run, and proof that a fault of the product would be found by it."""

from types import SimpleNamespace

import pytest
from snakemake.iocontainers import InputFiles, Log, OutputFiles, Params, ResourceList, Snakemake, Wildcards
from vlmdx.provenance import run_job
from vlmdx.schema.tables import REJECTED

from tests.fuzz import pictures, rows
from tests.fuzz.documents import dumped
from tests.fuzz.rows import world, written
from tests.fuzz.run import fuzz
from tests.fuzz.samples import COCO, GQA_GRAPHS, GQA_QUESTIONS
from tests.fuzz.targets import TARGETS
from tests.reliability.scripts import SCRIPTS, load

INPUTS = 60


@pytest.mark.parametrize("name", TARGETS)
def test_slice(name):
    counts, error = fuzz(TARGETS[name], INPUTS, start=1)
    if error is not None:
        raise error
    assert counts["inputs"] >= INPUTS and counts["accepted"] and counts["refused"]


def test_shares_are_whole():
    assert sum(target.share for target in TARGETS.values()) == 100


def test_the_same_seed_gives_the_same_inputs():
    runs = [fuzz(TARGETS["mmvp"], 30, start=4)[0] for _ in range(2)]
    assert runs[0] == runs[1] != fuzz(TARGETS["mmvp"], 30, start=5)[0]


def test_a_row_that_gets_lost_is_found(monkeypatch):
    import_items = rows.import_items

    def loses_the_rejected(*given, **options):
        found = import_items(*given, **options)
        return SimpleNamespace(**{**vars(found), "rejected": REJECTED.schema.empty_table()})

    monkeypatch.setattr(rows, "import_items", loses_the_rejected)
    _, error = fuzz(TARGETS["jsonl"], INPUTS, start=1)
    assert "a row is unaccounted for" in str(error)


def test_an_exception_of_a_library_is_found(monkeypatch):
    monkeypatch.setattr(pictures, "decode", lambda data, max_pixels: data.index(b"in no file"))
    _, error = fuzz(TARGETS["pictures"], INPUTS, start=1)
    assert isinstance(error, ValueError)


DEEP = b'{"a": ' + b"[" * 100_000


@pytest.mark.parametrize(
    ("importer", "files"),
    [
        ("jsonl", {"file": DEEP}),
        ("blink", {"file": DEEP}),
        ("seedbench", {"file": DEEP, "images": None}),
        ("coco", {"instances_file": DEEP, "images": None}),
        ("gqa", {"questions": DEEP, "scene_graphs": dumped(GQA_GRAPHS), "images": None}),
        ("gqa", {"questions": dumped(GQA_QUESTIONS), "scene_graphs": DEEP, "images": None}),
        ("vsr", {"file": DEEP, "instances_file": dumped(COCO), "images": None}),
        ("mmbench", {"file": b""}),
        ("mmbench", {"file": b"\x00\xff\n" * 9}),
        ("coco", {"instances_file": b"[]", "images": None}),
    ],
)
def test_no_traceback_reaches_the_user_of_a_job(importer, files, tmp_path, monkeypatch, capfd):
    """The job ends with one message that names the data set or the file; the traceback is in the log."""
    options = {
        key: str(world() if content is None else written(f"{key}.bin", content)) for key, content in files.items()
    }
    monkeypatch.chdir(tmp_path)  # where the job keeps its record
    settings = {"importer": importer, "options": options, "seed": 0, "max_pixels": 10**6}
    outputs = {kind: str(tmp_path / f"{kind}.parquet") for kind in ("questions", "images", "rejected")}
    job = Snakemake(
        InputFiles(), OutputFiles(fromdict=outputs), Params(fromdict={"digest": "d", "settings": settings}),
        Wildcards(fromdict={"dataset": "mine"}), 1, ResourceList(), Log([str(tmp_path / "log.txt")]), {},
        "import_dataset", None, str(SCRIPTS),
    )  # fmt: skip
    with pytest.raises(SystemExit):
        run_job(load("import_dataset").main, job)
    said = capfd.readouterr().err
    assert "Traceback" not in said
    (message,) = [part for part in said.replace("\r", "\0").split("\0") if "import_dataset mine: " in part]
    message = message.partition("import_dataset mine: ")[2]
    assert "data set mine" in message or ".bin" in message
    assert "DatasetError" in (tmp_path / "log.txt").read_text()
    assert not list(tmp_path.glob("*.parquet"))
