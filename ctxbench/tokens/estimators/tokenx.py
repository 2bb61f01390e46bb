"""tokenx: word-wise rules by script and language, as the npm package tokenx 2.2 publishes them.

A text is cut at white space and punctuation; each piece has a number of tokens by what
it is made of. Lengths are UTF-16 units where the package uses `length`, code points
where it counts characters.
"""

import math

import regex

from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.gemini_cli import utf16_units

_MARK = r"""[.,!?;(){}\[\]<>:/\\|@#$%^&*+=`~_"\-]"""
_CJK_MARK = r"[\u3001-\u3003\u3008-\u3011\u3014-\u301f\u3030\u30fb\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65]"
_SPACE = r"[\s\ufeff]"
_CUT = regex.compile(f"({_SPACE}+|{_MARK}+|{_CJK_MARK}+)")
_HAS_MARK, _HAS_CJK_MARK = regex.compile(_MARK), regex.compile(_CJK_MARK)
_ALL_SPACE, _STRUCTURE = regex.compile(f"{_SPACE}+"), regex.compile(rf"\n{_SPACE}")
_CJK = regex.compile(
    r"[\u4e00-\u9fff\u3400-\u4dbf\u3000-\u30ff\uff00-\uffef\u2e80-\u2eff\u31c0-\u31ef\u3200-\u33ff"
    r"\uac00-\ud7af\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\ud7b0-\ud7ff]"
)
_KANA = regex.compile(r"[\u3040-\u30ff]")
_HANGUL = regex.compile(r"[\uac00-\ud7af\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\ud7b0-\ud7ff]")
_DIGITS, _LOWER = regex.compile(r"[0-9]+"), regex.compile(r"[a-z]+")
_PICTURE = r"\p{Extended_Pictographic}"

BY_LETTERS = (
    (regex.compile(r"[äöüßẞ]", regex.I), 3.0),
    (regex.compile(r"[éèêëàâîïôûùüÿçœæáíóúñ]", regex.I), 4.5),
    (regex.compile(r"[ąćęłńóśźżěščřžýůúďťň]", regex.I), 2.5),
    (regex.compile(r"[\u0430-\u044f\u0451]", regex.I), 6.0),
    (regex.compile(r"[\u03ac-\u03ce]", regex.I), 3.0),
    (regex.compile(rf"^{_PICTURE}[{_PICTURE}\p{{Emoji_Component}}]*$"), 0.9),
)
"""Characters a token of a piece in which one of the letters stands, the first that fits."""

DEFAULT, MARKS, DIGITS = 7.0, 6.0, 3.0
HANZI, KANA, HANGUL = 1.2, 1.35, 1.65
SHORT, ONE_WORD = 3, 8
"""Units up to which a piece, and a word of lower-case letters, is one token."""


class Tokenx(AdditiveEstimator):
    """Tokens of the pieces of each text, summed."""

    def size_of_text(self, text: str) -> int:
        """Tokens of the text."""
        parts = _CUT.split(text)
        total, index, before = 0, 0, ""
        while index < len(parts):
            piece = parts[index]
            after = parts[index + 1] if index + 1 < len(parts) else ""
            if _HAS_CJK_MARK.search(after) and _CJK.search(piece):
                piece, index = piece + after, index + 1
            if piece:
                total += _piece_tokens(piece, before)
                before = piece
            index += 1
        return total

    def tokens(self, size: int) -> int:
        """The sum is in tokens already."""
        return size


def _piece_tokens(piece: str, before: str) -> int:
    if _ALL_SPACE.fullmatch(piece):
        return _space_tokens(piece, before)
    if _CJK.search(piece):
        kana, hangul = len(_KANA.findall(piece)), len(_HANGUL.findall(piece))
        return math.ceil((len(piece) - kana - hangul) / HANZI + kana / KANA + hangul / HANGUL)
    units = utf16_units(piece)
    if not piece.isascii():
        for letters, per_token in BY_LETTERS:
            if letters.search(piece):
                return math.ceil(len(piece) / per_token)
    if _DIGITS.fullmatch(piece):
        return math.ceil(units / DIGITS)
    if units <= SHORT or (units <= ONE_WORD and _LOWER.fullmatch(piece)):
        return 1
    return math.ceil(units / (MARKS if _HAS_MARK.search(piece) else DEFAULT))


def _space_tokens(piece: str, before: str) -> int:
    """Indentation is a token; a line end is one unless a mark stands before it; other space is none."""
    if _STRUCTURE.search(piece):
        return 1
    if "\n" not in piece:
        return 0
    last = before[-1:]
    return 0 if _HAS_MARK.search(last) or _HAS_CJK_MARK.search(last) else 1
