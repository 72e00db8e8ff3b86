"""Row accounting of an import, in numbers and in words."""

import re
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Summary:
    """Row accounting of one import: ``read`` = ``items`` + the rejected + ``undrawn``."""

    read: int = 0
    items: int = 0
    images: int = 0
    undrawn: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    checksum: str = ""

    @property
    def rejected(self) -> int:
        """Rows set aside."""
        return sum(self.reasons.values())

    def lines(self, name: str) -> list[str]:
        """The account in words, one reason per line, most frequent first."""
        drawn = f", {self.undrawn} not drawn" if self.undrawn else ""
        head = (
            f"{name}: {self.read} rows = {self.items} items on {self.images} images + {self.rejected} set aside{drawn}"
            f"; checksum {self.checksum[:16]}"
        )
        return [head, *(f"  {count} x {reason}" for reason, count in self.reasons.most_common(20))]


# What differs from row to row: a quoted text (an apostrophe inside a word opens none), a name or number.
_QUOTED = re.compile(r"""(?<!\w)b?(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
_NAMED = re.compile(r"[^\s:;,()\[\]{}…]*(?:[0-9/]|\w\.\w)[^\s:;,()\[\]{}…]*")
_GROUP = re.compile(r"[\[({][^\[\](){}]*…[^\[\](){}]*[\])}]|…(?:, …)+|\.\.\.")


def kind(reason: str) -> str:
    """A reason without what differs from row to row, so that equal ones can be counted.

    Values stand in reasons as ``records.brief`` writes them; a list or table of them counts as one value.
    """
    text = _NAMED.sub("…", _QUOTED.sub("…", reason))
    while (shorter := _GROUP.sub("…", text)) != text:
        text = shorter
    return text
