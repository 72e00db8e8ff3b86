"""Whatever a config file holds, what is wrong with it is told in words and with its line."""

import copy
import json

import pytest
from snakemake.common.configfile import load_configfile
from vlmdx.config import ConfigError
from vlmdx.config.files import parse, read_config
from vlmdx.config.root import DEMO

GOOD = b"seed: 0\nvoters: [a]\n"
# What stands in line 2 -> what is said of it. PyYAML lets Python's own exceptions through for most of them.
BROKEN = {
    b"seed: caf\xe9": "byte 0xe9 is no UTF-8; save the file as UTF-8",
    b"seed: \xed\xa0\x80": "byte 0xed is no UTF-8",
    b"seed: \0": "character U+0000 is no text",
    b"seed: 2024-13-45": "'2024-13-45' cannot be read as timestamp",
    b"seed: 2024-01-01T25:61:00Z": "cannot be read as timestamp",
    b"seed: 2024-01-01T10:00:00+99:99": "cannot be read as timestamp",
    b'seed: "\\Uffffffff"': "no such character",
    b"seed: 0x_": "'0x_' cannot be read as int",
    b"seed: 1" + b"0" * 5000: "cannot be read as int",
    b"seed: 0x" + b"f" * 5000: "cannot be read as int",
    b"seed: !!bool maybe": "'maybe' cannot be read as bool",
    b"seed: !!timestamp soon": "'soon' cannot be read as timestamp",
    b"seed: !!float x": "'x' cannot be read as float",
    b'seed: !!binary "\xc3\xa9"': "failed to convert base64 data",
    b"\tseed: 0": "found character '\\t'",
    b"seed: *nobody": "found undefined alias 'nobody'",
    b"seed: [&a 1, &a 2, *a]": "found duplicate anchor 'a'",
    b"seed: [1, 2": "while parsing a flow sequence, expected ',' or ']'",
    b"<<: [1, 2]": "expected a mapping for merging",
    b"? [1, 2]\n: 3": "unhashable key",
    b"seed: !!python/object/apply:os.system [true]": "could not determine a constructor",
    b"seed: !mine 1": "could not determine a constructor",
    b"seed: 0\n--- \nseed: 1": "another document",
}


@pytest.mark.parametrize("text", BROKEN, ids=lambda text: repr(text[:30]))
def test_what_cannot_be_read_is_told_with_its_line(text, tmp_path):
    path = tmp_path / "my.yaml"
    path.write_bytes(b"# first line\n" + text + b"\n")
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    (line,) = str(caught.value).splitlines()
    place, _, said = line.removeprefix(f"config: {path}, line ").partition(": ")
    assert int(place) in (2, 3, 4) and BROKEN[text] in said and len(said) < 200


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "no table of keys"),
        (b"- seed\n- 0\n", "no table of keys"),
        (b"seed", "no table of keys"),
        (b"null", "no table of keys"),
        (b"seed: " + b"[" * 5000, "nested too deeply"),
        (b'{"seed": ' + b"[" * 100_000, "nested too deeply"),
        (GOOD.decode().encode("utf-16"), "line 1: byte 0xff is no UTF-8"),
        (b"__use_yte__: true\nseed: ?open('made', 'w')\n", "templates (__use_yte__) run as Python"),
    ],
)
def test_a_file_that_is_no_config_at_all(content, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.yaml").write_bytes(content)
    with pytest.raises(ConfigError, match=r"^config: .*my\.yaml") as caught:
        read_config(tmp_path / "my.yaml")
    assert said in str(caught.value) and not (tmp_path / "made").exists()


def test_a_path_that_is_no_file(tmp_path):
    with pytest.raises(ConfigError, match=r"cannot be read \(Is a directory"):
        read_config(tmp_path)
    with pytest.raises(ConfigError, match=r"no\.yaml: cannot be read \(No such file"):
        read_config(tmp_path / "no.yaml")


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b"\n", b"\r\n"),
        json.dumps(DEMO).encode(),
        json.dumps(DEMO, indent="\t").encode(),  # JSON with tabs is no YAML
        b"a: &x {b: 1, c: 1e5, d: 010, e: yes, f: 1:30}\ng: {<<: *x, b: 2}\nh: 2024-01-31\n",
        "ключ: значение\nseed: 0\n".encode(),
        b"a: &a [1, *a]\n",
    ],
)
def test_what_is_read_is_what_snakemake_reads(content, tmp_path):
    path = tmp_path / "my.yaml"
    path.write_bytes(content)
    ours, theirs = read_config(path), load_configfile(path)
    assert list(ours) == list(theirs) and (b"*a" in content or ours == theirs)


def test_an_empty_lock_file_is_nothing_not_a_mistake(tmp_path):
    (tmp_path / "lock.yaml").write_text("# only a comment\n")
    assert parse(tmp_path / "lock.yaml") is None


def test_s01_a_slug_used_twice_is_named_with_both_lines(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("seed: 0\nmodels:\n  a: {source: x}\n  b: {source: x}\n  a: {source: y, source: z}\nseed: 1\n")
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert str(caught.value).splitlines() == [
        "config: models.a: this key stands twice, in lines 3 and 5; rename one",
        "config: models.a.source: this key stands twice, in lines 5 and 5; rename one",
        "config: seed: this key stands twice, in lines 1 and 6; rename one",
    ]


def test_a_key_that_stands_twice_in_json(tmp_path):
    path = tmp_path / "c.json"
    path.write_text('{\n\t"seed": 0, "a\\nb": 1, "a\\nb": 2, "models": {"m": {}, "m": {}}}')
    with pytest.raises(ConfigError) as caught:
        read_config(path)
    assert [line.split(":")[1].strip() for line in str(caught.value).splitlines()] == ["m", "'a\\nb'"]


def test_anchors_lists_and_merges_are_no_repetition(tmp_path):
    path = tmp_path / "c.yaml"
    anchors = ("a: &x {b: [1, {c: 1}, {c: 1}]}\nd: *x\ne: *x\n", "a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n")
    for text in (*anchors, "{a: 1}", '{\n\t"a": 1}'):
        path.write_text(text)
        assert read_config(path)


def test_the_demo_survives_json(tmp_path):
    path = tmp_path / "c.json"
    path.write_text(json.dumps(DEMO))
    assert read_config(path) == copy.deepcopy(DEMO)
