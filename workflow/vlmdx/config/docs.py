"""Write what the typed classes say: the default YAML, the JSON schema and the table of the manual.

python -m vlmdx.config.docs        rewrites the three; tests/config/test_docs.py fails with a diff when they drift
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, get_args

import yaml
from pydantic import BaseModel

from vlmdx.config.load import _blocks, load
from vlmdx.config.root import DEMO, Config

ROOT = Path(__file__).resolve().parents[3]
START, END = "<!-- table: written by python -m vlmdx.config.docs -->", "<!-- end of table -->"
HEADER = """# The embedded default, and a starting point for your own: every key with its default.
# Written by `python -m vlmdx.config.docs` from the typed classes in workflow/vlmdx/config. Manual: config/README.md.
"""


def default_yaml() -> str:
    """The shipped config/config.yaml."""
    lines = _yaml(Config, load(DEMO).model_dump(), depth=0)
    return HEADER + "\n".join(lines) + "\n"


def json_schema() -> str:
    """JSON schema of a config file, for editors."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **Config.model_json_schema()}
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def table() -> str:
    """Markdown table of all keys."""
    rows = ["| key | default | meaning |", "|---|---|---|", *_rows(Config, "")]
    return "\n".join(rows)


def manual(text: str) -> str:
    """The manual with its table renewed."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n{table()}\n{END}{after}"


def _yaml(block: type[BaseModel], values: Mapping[str, Any], depth: int) -> list[str]:
    pad, lines = "  " * depth, []
    for name, field in block.model_fields.items():
        value = values[name]
        if depth == 0:
            lines.append("")
        lines.append(f"{pad}# {_one_line(field.description)}")
        inner = _blocks(field.annotation)
        if isinstance(value, Mapping) and len(inner) == 1 and set(value) == set(inner[0].model_fields):
            lines += [f"{pad}{name}:", *_yaml(inner[0], value, depth + 1)]
        elif isinstance(value, Mapping):
            lines += [f"{pad}{name}:", *_indented(_without_defaults(value, inner), depth + 1)]
        else:
            lines.append(f"{pad}{name}: {yaml.safe_dump(value, default_flow_style=True, width=10**6).splitlines()[0]}")
    return lines


def _without_defaults(value: Mapping[str, Any], inner: list[type[BaseModel]]) -> dict[str, Any]:
    """Entries of a user's table show what was set; the manual lists what else may be."""
    defaults = {n: f.default for block in inner for n, f in block.model_fields.items() if not f.is_required()}

    def shown(entry: Any) -> Any:
        if not isinstance(entry, Mapping):
            return entry
        return {key: v for key, v in entry.items() if key not in defaults or v != defaults[key]}

    return {slug: shown(entry) for slug, entry in value.items()}


def _indented(value: Any, depth: int) -> list[str]:
    return ["  " * depth + line for line in yaml.safe_dump(value, sort_keys=False, width=10**6).splitlines()]


def _rows(block: type[BaseModel], prefix: str) -> list[str]:
    rows = []
    for name, field in block.model_fields.items():
        key = f"{prefix}{name}"
        inner = _blocks(field.annotation)
        rows.append(f"| `{key}` | {_default(field)} | {_one_line(field.description)} |")
        for each in inner:
            tagged = each.model_fields.get("importer") or each.model_fields.get("kind")
            slug = "" if not key.endswith(("datasets", "models", "runs")) else ".{slug}"
            tag = f" ({get_args(tagged.annotation)[0]})" if tagged else ""
            rows += _rows(each, f"{key}{slug}{tag}.")
    return rows


def _default(field: Any) -> str:
    if field.is_required():
        return "required"
    if isinstance(field.default, BaseModel):
        return ""
    text = json.dumps(field.default)
    return f"`{text}`" if len(text) < 60 else f"all {len(field.default)}"


def _one_line(text: str | None) -> str:
    return " ".join((text or "").split())


def main() -> None:
    """Rewrite the three files."""
    (ROOT / "config/config.yaml").write_text(default_yaml(), encoding="utf-8")
    (ROOT / "config/schema.json").write_text(json_schema(), encoding="utf-8")
    readme = ROOT / "config/README.md"
    readme.write_text(manual(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
