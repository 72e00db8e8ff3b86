"""A key that stands twice is a mistake: YAML would forget the first without a word."""

from vlmdx.config.files import repeated_keys


def test_s01_a_slug_used_twice_is_named_with_both_lines(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("seed: 0\nmodels:\n  a: {source: x}\n  b: {source: x}\n  a: {source: y, source: z}\nseed: 1\n")
    assert repeated_keys(path) == [
        "config: models.a: this key stands twice, in lines 3 and 5; rename one",
        "config: models.a.source: this key stands twice, in lines 5 and 5; rename one",
        "config: seed: this key stands twice, in lines 1 and 6; rename one",
    ]


def test_anchors_lists_and_empty_files_are_no_repetition(tmp_path):
    path = tmp_path / "c.yaml"
    anchors = ("a: &x {b: [1, {c: 1}, {c: 1}]}\nd: *x\ne: *x\n", "a: &x {b: 1}\nc:\n  <<: *x\n  <<: *x\n")
    for text in ("", *anchors, "{a: 1}", '{\n\t"a": 1}'):
        path.write_text(text)
        assert repeated_keys(path) == []
