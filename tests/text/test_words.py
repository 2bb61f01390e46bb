from itertools import pairwise

import regex
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.text import words as module
from ctxbench.text.cues import cues
from ctxbench.text.words import has_unspaced, pieces, words, words_between


def keys(text: str) -> list[str]:
    return [word.key for word in words(text)]


def test_words_of_many_scripts() -> None:
    assert keys("Order HX-48213 at 14:30, don't!") == ["order", "hx-48213", "at", "14:30", "don't"]
    assert keys("改到3月14日") == ["改", "到", "3", "月", "14", "日"]
    assert keys("तारीख को सुबह ६:४०") == ["तारीख", "को", "सुबह", "६:४०"]
    assert keys("الموعد النهائي: 15 مايو") == ["الموعد", "النهائي", "15", "مايو"]
    assert keys("３時にｅメール") == ["３", "時", "に", "ｅ", "メ", "ー", "ル"]


def test_numbers_and_names() -> None:
    found = {word.key: word for word in words("The code is A7. Ask Ada in Berne; it is late.")}
    assert [key for key, word in found.items() if word.is_number] == ["a7"]
    assert [key for key, word in found.items() if word.is_name] == ["a7", "ada", "berne"]  # not those that begin


@given(st.text(st.characters(max_codepoint=127)))
def test_the_fast_way_for_ascii_finds_the_same_words(text: str) -> None:
    slow = [match.span() for match in module._WORD.finditer(text)]
    assert [word[:2] for word in words(text)] == slow


@given(st.text(max_size=200))
def test_pieces_hold_every_word_once_and_in_order(text: str) -> None:
    found = pieces(text)
    assert all(end <= start for (_, end), (start, _) in pairwise(found))
    held = [word for start, end in found for word in words_between(text, start, end)]
    assert len(held) == len(words(text)) or regex.search(r"\p{M}|[\p{Thai}\p{Lao}]", text)
    assert [word.start for word in held] == sorted(word.start for word in held)


def test_long_sentences_are_cut_at_clauses() -> None:
    text = "Short one. " + "and so it goes on and on, " * 4 + "until it ends."
    assert [text[start:end] for start, end in pieces(text)] == [
        "Short one.", *["and so it goes on and on,"] * 4, "until it ends.",
    ]  # fmt: skip
    even = "word " * 40
    assert [len(even[start:end].split()) for start, end in pieces(even.strip())] == [14, 14, 12]


def test_scripts_without_spaces() -> None:
    assert [has_unspaced(text) for text in ("plain", "naïve", "한국어", "漢字", "ไทย")] == [
        False,
        False,
        False,
        True,
        True,
    ]


def test_cues_in_several_languages() -> None:
    assert cues("Never touch the table.") == (True, False, False)
    assert cues("The nevermore is a poem.") == (False, False, False)
    assert cues("我们决定改成周五,可以吗") == (False, True, True)
    assert cues("必ず金曜日に") == (True, False, False)
    assert cues("Мы решили: всегда по пятницам.") == (True, True, False)
    assert cues("هل هذا صحيح؟") == (False, False, True)
