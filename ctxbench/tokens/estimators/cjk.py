"""Counts the characters of scripts that spend about a token a character."""

import regex

_CJK = regex.compile(r"[\p{Script=Han}\p{Script=Hangul}\p{Script=Hiragana}\p{Script=Katakana}]+")


def count_cjk(text: str) -> int:
    """Code points of the scripts Han, Hangul, Hiragana and Katakana."""
    return 0 if text.isascii() else len(text) - len(_CJK.sub("", text))
