import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.conversation.model import FunctionCall, Message, Probe, ToolCall
from ctxbench.scoring.recall import grams, recall
from ctxbench.scoring.retained import found, haystack, retained
from ctxbench.text.normalise import normalise


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("5", "it costs 5."),
        ("5", "第5章"),
        ("1.5", "the factor is 1.5."),
        ("15", "١٥ يوما"),
        ("١٥", "in 15 days"),
        ("12", "१२ बजे"),
        ("7", "７番"),
        ("ABC-1", "ａｂｃ‐１"),
        ("東京", "来週東京都へ行く"),
        ("api", "请用API写"),
        ("부산", "주소를 부산으로 바꿔 주세요"),
        ("HX-48213", "주문번호는 HX-48213입니다"),
        ("วันศุกร์", "ขอเลื่อนนัดเป็นวันศุกร์ค่ะ"),
        ("straße 7", "STRASSE 7"),
        ("l'eau", "l’eau"),
        ('"go"', "he said «go»"),
        ("9-17", "9–17"),
        ("محمد", "مُحَمَّد"),
        ("سلام", "ســلام"),
        ("New York", "new\u00a0york"),
        ("می‌خواهم", "می\u200cخواهم"),
        ("$5", "for $5 only"),
        ("14 Harbour Lane", "to 14 Harbour\nLane, please"),
    ],
)
def test_found(answer: str, text: str) -> None:
    assert found([answer], normalise(text))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("5", "15"),
        ("5", "1.5"),
        ("5", "5.1"),
        ("5", "2050"),
        ("5", "12:5"),
        ("800", "1,800"),
        ("5", "x5"),
        ("5", "5th"),
        ("id", "user_id"),
        ("cat", "category"),
        ("art", "smart"),
        ("क", "का"),
        ("กา", "ก้า"),
        ("산", "부산"),
        ("الرياض", "بالرياض"),
        ("—", "a — b"),
        ("", "anything"),
    ],
)
def test_not_found(answer: str, text: str) -> None:
    assert not found([answer], normalise(text))


def test_an_answer_does_not_span_two_messages() -> None:
    assert not found(["Harbour Lane"], haystack([Message("user", "Harbour"), Message("user", "Lane")]))


def test_answers_are_found_in_calls_and_results_but_roles_do_not_count() -> None:
    call = Message("assistant", None, tool_calls=(ToolCall("c", FunctionCall("find", '{"q": "HX-1"}')),))
    text = haystack([call, Message("tool", "depot Gent")])
    assert found(["HX-1"], text)
    assert found(["gent"], text)
    assert not found(["assistant"], text)


def test_retained_needs_every_answer_and_any_alias_of_each() -> None:
    probe = Probe("p", "Who and what code?", ["Ms Petrov", "Petrov"], "multi", [1], also=[["4471", "44 71"]])
    assert retained(probe, normalise("Petrov knows 44 71"))
    assert not retained(probe, normalise("Petrov knows"))
    assert not retained(probe, normalise("4471"))
    assert retained(Probe("p", "?", [], "absent", []), "anything") is None


@given(st.text(st.characters(), max_size=60))
def test_normalising_twice_changes_nothing_and_never_raises(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30))
def test_a_text_is_found_in_itself(text: str) -> None:
    if any(char.isalnum() for char in normalise(text)):
        assert found([text], normalise(text))


def test_grams_by_hand() -> None:
    assert grams("Cats!") == {"_cat", "cats", "ats_"}
    assert grams("a b") == {"_a_", "_b_"}
    assert grams("今日は") == {"今日", "日は"}
    assert grams("…") == frozenset()


def test_recall_by_hand() -> None:
    evidence = Message("user", "cats nap")  # _cat cats ats_ _nap nap_
    assert recall([evidence], [evidence]) == 1.0
    assert recall([evidence], [Message("system", "Cats!")]) == pytest.approx(3 / 5)
    assert recall([evidence], [Message("user", "cats"), Message("user", "naps")]) == pytest.approx(4 / 5)
    assert recall([evidence], []) == 0.0
    assert recall([Message("user", "")], [evidence]) is None
    assert recall([], [evidence]) is None
