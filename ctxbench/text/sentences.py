"""Splits text into sentences, in any script.

Sentence marks of Latin, CJK, Indic, Arabic, Ethiopic, Burmese and Khmer scripts end a
sentence, and so does a line end. Thai and Lao write no mark: there a space between
two runs of text ends a clause. What is still very long is cut into pieces.
"""

import re
from functools import lru_cache
from itertools import pairwise

LONGEST = 400
"""Code points after which a piece is cut, at a space where there is one."""

THAI_SPACE = r"(?<=[\u0e01-\u0e3a\u0e40-\u0edf])\s+(?=[\u0e01-\u0e3a\u0e40-\u0edf])"
"""A space between two runs of Thai or Lao."""
_ENDS = re.compile(
    r"""\n+
    | [.!?\u2026][)"'\u2019\u201d\]]*\s+                               # Latin: a mark, then a space
    | [\u3002\uff01\uff1f\uff61][\u300d\u300f\uff09\u201d]*             # CJK: no space
    | [\u0964\u0965\u061f\u06d4\u1362\u1367\u104a\u104b\u17d4]\s*       # Indic, Arabic, Ethiopic, ...
    | """
    + THAI_SPACE,
    re.VERBOSE,
)


@lru_cache(maxsize=16384)
def split_sentences(text: str) -> tuple[str, ...]:
    """The sentences of a text, in order, without the white space around them."""
    ends = [match.end() for match in _ENDS.finditer(text)]
    pieces = (text[start:end].strip() for start, end in pairwise([0, *ends, len(text)]))
    return tuple(part for piece in pieces if piece for part in _shorten(piece))


def _shorten(piece: str) -> list[str]:
    parts = []
    while len(piece) > LONGEST:
        cut = piece.rfind(" ", LONGEST // 2, LONGEST)
        cut = LONGEST if cut < 0 else cut
        parts.append(piece[:cut].rstrip())
        piece = piece[cut:].lstrip()
    return [*parts, piece] if piece else parts
