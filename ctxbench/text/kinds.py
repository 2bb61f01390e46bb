"""What kind of text a message is: prose, JSON, a log, code, base64, emoji, or two scripts mixed.

Rules on the text alone, for grouping errors; they are rough, and say `chat` when in doubt.
"""

from functools import lru_cache

import msgspec
import regex

KINDS = ("chat", "prose", "code", "json", "log", "base64", "emoji", "mixed")
"""`prose` is given by the source (lines of a text file), never guessed."""

_BASE64 = regex.compile(r"[A-Za-z0-9+/_=-]{64,}")
_PICTURE = regex.compile(r"[\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Regional_Indicator}\u200d\ufe0f]")
_LOG_LINE = regex.compile(
    r"^\W{0,2}(\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d|\[?(DEBUG|INFO|WARN|WARNING|ERROR|FATAL|TRACE)\b)", regex.M
)
_CODE_LINE = regex.compile(
    r"""^\s*(def |class |import |from \w+ import|return\b|if .*:$|for .*:$|while .*:$|\}|\{|@@ |[+-] {2,}
    |(const|let|var|function|public|private|func|package|use|SELECT|INSERT|UPDATE|CREATE)\b
    |File "|at \w+|Traceback|\d+:\s?\S?).*|.*[;{}]\s*$""",
    regex.M | regex.X,
)
_SCRIPTS = [
    regex.compile(rf"[{names}]")
    for names in (
        r"\p{Latin}", r"\p{Cyrillic}", r"\p{Arabic}", r"\p{Hebrew}", r"\p{Devanagari}", r"\p{Tamil}", r"\p{Thai}",
        r"\p{Hangul}", r"\p{Han}\p{Hiragana}\p{Katakana}", r"\p{Greek}",
    )
]  # fmt: skip
MIXED_SHARE = 0.2
"""Share of letters that the second script needs for a text to be mixed."""


@lru_cache(maxsize=65_536)
def kind_of(text: str) -> str:
    """The kind of a text, one of `KINDS`."""
    bare = text.strip()
    if bare[:1] in ("{", "[") and _is_json(bare):
        return "json"
    visible = len(regex.sub(r"\s", "", text))
    if visible and sum(map(len, _BASE64.findall(text))) > 0.5 * visible:
        return "base64"
    if visible and not bare.isascii() and len(_PICTURE.findall(text)) > 0.5 * visible:
        return "emoji"
    lines = max(1, sum(bool(line.strip()) for line in text.splitlines()))
    if lines >= 3 and len(_LOG_LINE.findall(text)) >= 0.5 * lines:
        return "log"
    if lines >= 3 and len(_CODE_LINE.findall(text)) >= 0.4 * lines:
        return "code"
    return "mixed" if _is_mixed(text) else "chat"


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        return False
    return True


def _is_mixed(text: str) -> bool:
    if text.isascii():
        return False
    counts = sorted((len(script.findall(text)) for script in _SCRIPTS), reverse=True)
    return sum(counts) > 0 and counts[1] >= MIXED_SHARE * sum(counts)
