"""`vlmdx check-config` answers for every config file, also for those on which Snakemake shows a traceback."""

import json

import pytest
import yaml
from typer.testing import CliRunner
from vlmdx.cli import app
from vlmdx.config.root import DEMO

from tests.cli.project import project


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Check a file with this content in a small project; exit status and lines."""
    monkeypatch.chdir(project(tmp_path))

    def of(content: bytes | None) -> tuple[int, list[str]]:
        if content is not None:
            (tmp_path / "my.yaml").write_bytes(content)
        done = CliRunner().invoke(app, ["check-config", *(["my.yaml"] if content is not None else [])])
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output.splitlines()

    return of


def changed(**changes) -> bytes:
    return json.dumps({**DEMO, **changes}).encode()


def test_a_good_file_and_the_embedded_default(check):
    said = [f"no mistake: {len(DEMO['datasets'])} data sets, 2 models"]
    assert check(yaml.safe_dump(DEMO).encode()) == check(None) == (0, said)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"# caf\xe9\n", "config: my.yaml, line 1: byte 0xe9 is no UTF-8; save the file as UTF-8"),
        (b"\nseed: 2024-13-45\n", "config: my.yaml, line 2: '2024-13-45' cannot be read as timestamp"),
        (b"[" * 5000, "config: my.yaml: brackets or blocks are nested too deeply"),
        (changed(seed=-1), "config: seed: Input should be greater than or equal to 0, found -1"),
        (changed(seed=2**32), "config: seed: Input should be less than 4294967296, found 4294967296"),
        (changed(scoring={"letter_prompt": "x" * 5000}), "config: scoring.letter_prompt: no file 'xxx"),
        (
            changed(scoring={"letter_prompt": "latin.txt"}),
            "config: scoring.letter_prompt: 'latin.txt' is no UTF-8 text",
        ),
        (changed(selection={"image_encoder": "x/" * 3000}), "config: selection.image_encoder: 'x/x/"),
        (
            changed(datasets={**DEMO["datasets"], "shapes": {**DEMO["datasets"]["shapes"], "questions": "a{b}.json"}}),
            "config: datasets.shapes.questions: 'a{b}.json': Snakemake takes what stands in braces for a wildcard",
        ),
        (
            changed(datasets={**DEMO["datasets"], "shapes": {**DEMO["datasets"]["shapes"], "images": "a\0b"}}),
            "config: datasets.shapes.images: 'a\\x00b' cannot be a path",
        ),
        (
            changed(datasets={**DEMO["datasets"], "shapes": {**DEMO["datasets"]["shapes"], "images": "y" * 300}}),
            "config: datasets.shapes.images: 'yyy",
        ),
    ],
)
def test_a_mistake_is_one_line(check, tmp_path, content, said):
    (tmp_path / "latin.txt").write_bytes(b"{question} \xe9")
    status, (line,) = check(content)
    assert status == 1 and line.startswith(said)


def test_a_broken_lock_file_is_told_as_well(check, tmp_path):
    (tmp_path / "config" / "models.lock.yaml").write_bytes(b"a: {source: caf\xe9}\n")
    status, (line,) = check(None)
    assert status == 1 and "models.lock.yaml" in line and "delete the file and run `vlmdx fetch`" in line
