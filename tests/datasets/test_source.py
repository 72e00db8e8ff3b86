"""Reading of rows, JSON entries and paths."""

import pytest
from vlmdx.datasets.records import DatasetError, RowError
from vlmdx.datasets.source import Folder, json_entries, json_lines, table_rows


def test_table_keeps_bom_quotes_newlines_and_giant_cells(tmp_path):
    path = tmp_path / "t.tsv"
    giant = "x" * 300_000
    path.write_bytes(
        '\ufeffindex\ttext\n1\t"two\nlines, ""quoted"", a\ttab and O\'Neil"\n\n2\tonly O\'Neil\n3\n'.encode()
        + f"4\t{giant}\n".encode()
    )
    rows = list(table_rows(path, "\t", ("index", "text")))
    assert [n for n, _ in rows] == [1, 2, 3, 4]  # the empty line is no row
    assert rows[0][1] == {"index": "1", "text": 'two\nlines, "quoted", a\ttab and O\'Neil'}
    assert rows[1][1]["text"] == "only O'Neil"
    assert isinstance(rows[2][1], RowError) and "1 cells" in str(rows[2][1])
    assert rows[3][1]["text"] == giant


def test_table_limit_of_other_code_is_left_alone(tmp_path):
    import csv

    before = csv.field_size_limit()
    (tmp_path / "t.tsv").write_text("a\tb\n1\t2\n")
    list(table_rows(tmp_path / "t.tsv", "\t", ("a",)))
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("header", ["a\tb\n", "index\tindex\ttext\n", ""])
def test_table_header_is_checked(tmp_path, header):
    (tmp_path / "t.tsv").write_text(header)
    with pytest.raises(DatasetError, match="header"):
        list(table_rows(tmp_path / "t.tsv", "\t", ("index", "text")))


def test_json_lines_name_the_broken_line(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(
        b'\xef\xbb\xbf{"a": 1}\n\n{"a": \n[1]\n{"a": 1, "a": 2}\n\xff\n{"a": "\xe2\x80\xa8"}\n' + b"[" * 100_000 + b"\n"
    )
    rows = dict(json_lines(path))
    assert rows[1] == {"a": 1} and rows[7] == {"a": "\u2028"} and 2 not in rows
    for number, reason in {3: "no JSON", 4: "no JSON object", 5: "twice", 6: "no JSON", 8: "no JSON"}.items():
        assert isinstance(rows[number], RowError) and reason in str(rows[number])


def test_json_entries_come_one_by_one(tmp_path):
    path = tmp_path / "o.json"
    path.write_text(' {"a" : {"x": [1, "}"]},\n "b":2 , "a":null}\n')
    assert list(json_entries(path)) == [("a", {"x": [1, "}"]}), ("b", 2), ("a", None)]
    path.write_text("{ }")
    assert list(json_entries(path)) == []


@pytest.mark.parametrize("text", ["", "[1]", '{"a": 1', '{"a": 1,', '{"a" 1}', "{a: 1}", '{"a": tru}', "<html>"])
def test_json_entries_refuse_what_is_not_whole(tmp_path, text):
    (tmp_path / "o.json").write_text(text)
    with pytest.raises(DatasetError, match=r"o\.json"):
        list(json_entries(tmp_path / "o.json"))


def test_s04_odd_file_names_are_found(tmp_path):
    name = 'a b\'c "d" é {1}.jpg'
    (tmp_path / name).write_bytes(b"x")
    assert Folder(tmp_path).file(f"./{name}") == (name, tmp_path.resolve() / name)


def test_paths_stay_in_the_folder(tmp_path):
    inside = tmp_path / "set"
    inside.mkdir()
    (tmp_path / "secret.jpg").write_bytes(b"x")
    (inside / "link.jpg").symlink_to(tmp_path / "secret.jpg")
    (inside / "loop.jpg").symlink_to("loop.jpg")
    (inside / "real.jpg").write_bytes(b"x")
    (inside / "alias.jpg").symlink_to("real.jpg")
    files = Folder(inside)
    bad = ["../secret.jpg", "x/../../secret.jpg", str(tmp_path / "secret.jpg"), "link.jpg", "loop.jpg", "no.jpg", "",
           None, 3, "a\0b", "x" * 5000, "\ud800.jpg"]  # fmt: skip
    for name in bad:
        with pytest.raises(RowError, match="image"):
            files.file(name)
    assert files.file("alias.jpg")[1] == (inside / "real.jpg").resolve()


def test_folder_may_itself_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.jpg").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert Folder(tmp_path / "link").file("a.jpg")[1].is_file()
