"""Counts of character classes of many texts at once, in numpy; no per-character Python.

Two views of the same code points: *groups* (a script, a kind of mark), counted as
characters, as runs and as characters far inside a run, from which tokens are
estimated; and *letters* (single letters where they tell languages apart), from which a
text's language or kind is guessed. What either is worth is `calibrated`'s matter.
"""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

GROUPS = (
    "space", "line", "digit", "lower", "upper", "ascii_mark", "latin", "greek", "cyrillic", "hebrew", "arabic",
    "devanagari", "indic", "southeast", "hangul", "kana", "han", "han_traditional", "han_rare", "other_letter",
    "combining", "symbol", "mark", "rest",
)  # fmt: skip
"""Groups of characters; each text's features are counts, runs and deep characters of each."""

DEEP = 8
"""Position in a run of one group from which a character counts as deep: long words cost more."""

LETTERS = 512
"""Number of classes of the finer view."""

_BLOCKS = (
    # first code point, end, group; what is not named below 0x3100 is classed by its Unicode category
    (0x1100, 0x1200, "hangul"), (0x3040, 0x3100, "kana"), (0x3130, 0x3190, "hangul"), (0x31F0, 0x3200, "kana"),
    (0x3400, 0x4DC0, "han"), (0x4E00, 0xA000, "han"), (0xA960, 0xA980, "hangul"), (0xAC00, 0xD800, "hangul"),
    (0xF900, 0xFB00, "han"), (0xFB50, 0xFE00, "arabic"), (0xFE70, 0xFF00, "arabic"), (0xFF00, 0xFFF0, "mark"),
    (0xFF66, 0xFFA0, "kana"), (0x1F000, 0x1FB00, "symbol"), (0x20000, 0x32000, "han"),
)  # fmt: skip

_LETTER_BLOCKS = (
    (0x80, 0x250, "latin"), (0x250, 0x370, "latin"), (0x370, 0x400, "greek"), (0x400, 0x530, "cyrillic"),
    (0x590, 0x600, "hebrew"), (0x600, 0x780, "arabic"), (0x8A0, 0x900, "arabic"), (0x900, 0x980, "devanagari"),
    (0x980, 0xE00, "indic"), (0xE00, 0x10A0, "southeast"), (0x1780, 0x1800, "southeast"), (0x1E00, 0x1F00, "latin"),
    (0x1F00, 0x2000, "greek"), (0x2C60, 0x2C80, "latin"),
)  # fmt: skip


@lru_cache
def _tables() -> tuple[np.ndarray, np.ndarray]:
    """Group and letter class of every code point."""
    index = {name: number for number, name in enumerate(GROUPS)}
    groups = np.full(0x110000, index["rest"], dtype=np.uint8)
    for code in range(0x3100):
        groups[code] = index[_group(code)]
    for first, end, name in _BLOCKS:
        groups[first:end] = index[name]
    for code in range(0x4E00, 0xA000):
        groups[code] = index[_han(chr(code))]
    letters = groups.astype(np.uint16)  # where a group has no letters of its own, it is one class
    codes = np.arange(0x110000)
    for first, end, base, size in (
        (0x21, 0x7F, 32, 96), (0x80, 0x250, 128, 96), (0x400, 0x530, 224, 64), (0x600, 0x780, 288, 64),
        (0x1E00, 0x1F00, 352, 32), (0x4E00, 0xA000, 384, 128),
    ):  # fmt: skip
        letters[first:end] = base + codes[first:end] % size
    blocks = slice(0x900, 0x1800)  # scripts of South and Southeast Asia and others: a class a block
    letters[blocks] = np.where(letters[blocks] < 32, 480 + (codes[blocks] >> 7) % 32, letters[blocks])
    letters[ord("A") : ord("Z") + 1] = letters[ord("a") : ord("z") + 1]
    letters[ord("0") : ord("9") + 1] = index["digit"]
    return groups, letters


def _group(code: int) -> str:
    char = chr(code)
    if code < 0x80:
        if char in "\n\r":
            return "line"
        if char.isspace():
            return "space"
        if char.isalpha():
            return "lower" if char.islower() else "upper"
        return "digit" if char.isdigit() else "ascii_mark" if char.isprintable() else "rest"
    category = unicodedata.category(char)
    if category in ("Mn", "Mc", "Me"):
        return "combining"
    if category[0] == "Z":
        return "space"
    if category[0] == "L":
        return next((name for first, end, name in _LETTER_BLOCKS if first <= code < end), "other_letter")
    return {"N": "digit", "P": "mark", "S": "symbol"}.get(category[0], "rest")


def _han(char: str) -> str:
    """How common a Han character is: the first levels of GB 2312 and of Big5 hold the common ones."""
    if 0xB0A1 <= int.from_bytes(char.encode("gb2312", "ignore")) <= 0xD7F9:
        return "han"
    return "han_traditional" if 0xA440 <= int.from_bytes(char.encode("big5", "ignore")) <= 0xC67E else "han_rare"


def code_points(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """All code points of the texts one after the other, and the length of each text."""
    data = "".join(texts).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(data, dtype=np.uint32), np.fromiter(map(len, texts), dtype=np.int64, count=len(texts))


def features(texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Group features (texts, 3 * len(GROUPS)) and letter counts (texts, LETTERS)."""
    codes, lengths = code_points(texts)
    group_table, letter_table = _tables()
    owner = np.repeat(np.arange(len(texts)), lengths)
    groups = group_table[codes]
    starts = np.empty(len(codes), dtype=bool)
    starts[:1] = True
    np.not_equal(groups[1:], groups[:-1], out=starts[1:])
    first = np.cumsum(lengths)[:-1]
    starts[first[first < len(codes)]] = True  # a text begins a run
    where = np.flatnonzero(starts)
    run_lengths = np.diff(np.append(where, len(codes)))
    deep = np.maximum(run_lengths - DEEP, 0)
    count = len(GROUPS)
    cell = owner * count + groups
    size = len(texts) * count
    parts = (
        np.bincount(cell, minlength=size),
        np.bincount(cell[where], minlength=size),
        np.bincount(cell[where], weights=deep, minlength=size),
    )
    grouped = np.concatenate([part.reshape(len(texts), count) for part in parts], axis=1).astype(np.float32)
    letters = np.bincount(owner * LETTERS + letter_table[codes], minlength=len(texts) * LETTERS)
    return grouped, letters.reshape(len(texts), LETTERS).astype(np.float32)
