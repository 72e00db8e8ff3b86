"""Any other data: one JSON object per line.

==============  =====================================================================================================
key             value
==============  =====================================================================================================
``image``       path of the image file, relative to the folder of the .jsonl file, which it may not leave
``question``    text, without options
``options``     list of 2 to 26 different texts, in the order in which they are shown
``answer``      the gold option, as the setting ``answer_form`` declares; absent or null: no gold is known
``id``          text or whole number, unique in the file (default ``line-N``)
``category``    text
``operation``   select, relate, verify, exist, query, choose or filter
``program``     functional program, a list of steps as in GQA
``objects``     list of ``{"object_id", "name", "x", "y", "w", "h"}``: boxes in pixels of the upright image, origin top
                left; ``object_id`` may be left out and is then the place in the list
==============  =====================================================================================================

Any other key sets the row aside: a misspelt ``answr`` must not pass as an item without gold.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import FilePath

from vlmdx.datasets.gold import Form, gold_index
from vlmdx.datasets.records import Box, Item, Row, RowError, brief, check_options, check_text, make_box, program_json
from vlmdx.datasets.source import Folder, guarded, json_lines, need, text_id

KEYS = ("image", "question", "options", "answer", "id", "category", "operation", "program", "objects")


def read(*, file: FilePath, answer_form: Form = "auto") -> Iterator[Row]:
    """Rows of the file, as the table above says.

    Args:
        file: the JSON lines.
        answer_form: how ``answer`` names the gold option, see ``gold.gold_index``.
    """
    files = Folder(file.parent)
    for number, row in json_lines(file):
        key = str(row["id"]) if isinstance(row, dict) and "id" in row else f"line-{number}"
        yield guarded(
            _item, row, number, file.name, files, answer_form, source=file.name, position=str(number), item_id=key
        )


def _item(row: dict[str, Any] | RowError, number: int, source: str, files: Folder, form: Form) -> Item:
    if isinstance(row, RowError):
        raise row
    if unknown := [key for key in row if key not in KEYS]:
        raise RowError(f"unknown key {brief(unknown[0])}; known are {', '.join(KEYS)}")
    image, question, choices = need(row, "image", "question", "options")
    if not isinstance(choices, list):
        raise RowError(f"options {brief(choices)} are no list")
    options = tuple(choices)
    for option in options:
        check_text(option)
    check_options(options)
    image_id, path = files.file(image)
    answer, program = row.get("answer"), row.get("program")
    if program is not None and not isinstance(program, list):
        raise RowError("program is no list of steps")
    return Item(
        source=source,
        position=str(number),
        item_id=text_id(row["id"]) if "id" in row else f"line-{number}",
        image_id=image_id,
        image=path,
        question=question,
        options=options,
        answer=None if answer is None else gold_index(answer, options, form),
        category=row.get("category"),
        operation=row.get("operation"),
        program=None if program is None else program_json(program),
        objects=_boxes(row.get("objects")),
    )


def _boxes(objects: Any) -> tuple[Box, ...] | None:
    if objects is None:
        return None
    if not isinstance(objects, list):
        raise RowError(f"objects {brief(objects)} are no list")
    boxes = []
    for place, entry in enumerate(objects):
        if not isinstance(entry, dict) or {*entry, "object_id"} != {"object_id", "name", "x", "y", "w", "h"}:
            raise RowError(f"object {place} is not of the form {{object_id, name, x, y, w, h}}")
        boxes.append(make_box(text_id(entry.get("object_id", place)), entry["name"], [entry[k] for k in "xywh"]))
    return tuple(boxes)
