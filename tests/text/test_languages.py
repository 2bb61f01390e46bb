import pytest

from ctxbench.errors import CtxbenchError
from ctxbench.text.languages import english_name, is_tag, language_of_name, share_in_script


@pytest.mark.parametrize(
    ("name", "tag"),
    [("deu", "de"), ("zho-CN", "zh-Hans"), ("zho-TW", "zh-Hant"), ("zh", "zh-Hans"), ("arb", "ar"), ("hindi", "hi"),
     ("jp", "ja"), ("swa", "sw"), ("pt-BR", "pt-BR"), ("en", "en")],
)  # fmt: skip
def test_names_stand_for_languages(name: str, tag: str) -> None:
    assert language_of_name(name) == tag


def test_a_name_that_is_no_language_is_told() -> None:
    with pytest.raises(CtxbenchError, match="'qqzz' is no language that is known"):
        language_of_name("qqzz")


def test_tags() -> None:
    assert [is_tag(tag) for tag in ("en", "zh-Hans", "und", "xx", "english", "EN", "")] == [True, True] + [False] * 5


def test_english_names() -> None:
    assert [english_name(tag) for tag in ("de", "zh-Hant", "pt-BR")] == [
        "German", "Chinese (Traditional)", "Portuguese (Brazil)",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "tag", "share"),
    [
        ("abcд", "ru", 0.25),
        ("今日はカフェ", "ja", 1.0),
        ("今日", "zh-Hant", 1.0),
        ("abc", "ko", 0.0),
        ("12 !", "en", None),
    ],
)
def test_shares_of_letters_in_the_languages_script(text: str, tag: str, share: float | None) -> None:
    assert share_in_script(text, tag) == share
