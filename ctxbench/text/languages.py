"""Languages: their tags from the names that files have, their English names, their scripts."""

from functools import lru_cache

import langcodes
import regex
from langcodes.tag_parser import LanguageTagError

from ctxbench.errors import CtxbenchError


def language_of_name(name: str) -> str:
    """The BCP 47 tag that a file's or folder's name stands for; Chinese by its script.

    Codes of ISO 639 (`deu`), tags (`zho-CN`) and English names (`hindi`) are understood.
    """
    try:
        tag = langcodes.standardize_tag(_USUAL.get(name.lower(), name), macro=True)
    except LanguageTagError:
        tag = ""
    if not tag or not langcodes.tag_is_valid(tag):
        try:
            tag = langcodes.find(name).to_tag()
        except LookupError:
            raise CtxbenchError(f"{name!r} is no language that is known; give the language's tag") from None
    language = langcodes.Language.get(tag)
    return f"zh-{language.maximize().script}" if language.language == "zh" else tag


_USUAL = {"jp": "ja", "cn": "zh-CN", "kr": "ko"}
"""Country codes that data sets use for languages."""


def is_tag(tag: str) -> bool:
    """Whether this is a well-formed BCP 47 tag of a language that exists (`und` is not)."""
    return langcodes.tag_is_valid(tag) and langcodes.standardize_tag(tag) == tag and tag != "und"


def english_name(tag: str) -> str:
    """How a prompt calls a language, such as `Chinese (Simplified)`."""
    return langcodes.Language.get(tag).display_name()


_SCRIPTS = {"Jpan": "Han Hiragana Katakana", "Kore": "Hangul", "Hans": "Han", "Hant": "Han"}
"""Codes of ISO 15924 for writing systems of several scripts, as Unicode's scripts."""


@lru_cache
def script_of(tag: str) -> str:
    """The code (ISO 15924) of the writing system that a language is mostly written in, such as `Cyrl`."""
    return langcodes.Language.get(tag).maximize().script or "Zyyy"


@lru_cache
def _script_pattern(tag: str) -> "regex.Pattern[str]":
    code = script_of(tag)
    names = _SCRIPTS.get(code, code).split()
    return regex.compile("[" + "".join(rf"\p{{Script={name}}}" for name in names) + "]")


_LETTER = regex.compile(r"\p{L}")


def share_in_script(text: str, tag: str) -> float | None:
    """Share (0 to 1) of the text's letters that are of the language's script; None without letters."""
    letters = len(_LETTER.findall(text))
    return len(_script_pattern(tag).findall(text)) / letters if letters else None
