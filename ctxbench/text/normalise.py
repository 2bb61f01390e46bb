"""Makes two spellings of one text equal, in any script.

Compatibility forms (full-width letters, ligatures), case, native digits, quotes,
dashes, sentence marks and spaces are unified; marks that readers ignore (Arabic and
Hebrew vowel points, tatweel, zero-width and direction marks) are removed. Nothing
here knows what an answer is: see `retained`.
"""

import unicodedata
from functools import lru_cache

import regex

_IGNORED = regex.compile(r"[\p{Cf}\u00ad\u0640\u064b-\u065f\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]")
_DASH = regex.compile(r"[\p{Pd}\u2212]")
_SPACE = regex.compile(r"[\s\p{Z}]+")
_NATIVE_DIGIT = regex.compile(r"(?![0-9])\p{Nd}")
_MARKS = str.maketrans(
    dict.fromkeys("‘’‚‛′`´ʼ", "'")
    | dict.fromkeys("“”„‟″«»「」『』", '"')
    | {"\u3002": ".", "\u0964": ".", "\u06d4": ".", "\u066b": ".", "\u3001": ",", "\u060c": ",", "\u066c": ","}
    | {"\u061f": "?", "\u061b": ";"}
)


@lru_cache(maxsize=16384)
def normalise(text: str) -> str:
    """The form of `text` in which equal answers are equal strings."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = unicodedata.normalize("NFKC", text)  # casefolding can decompose
    text = _NATIVE_DIGIT.sub(lambda match: str(unicodedata.digit(match[0])), _IGNORED.sub("", text))
    unified: str = _SPACE.sub(" ", _DASH.sub("-", text.translate(_MARKS)))
    return unified.strip()
