import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import Probe
from ctxbench.scoring.answered import WRONG, AnswerScore, score_answer


def probe(*answers: str, also: list[list[str]] | None = None) -> Probe:
    return Probe("p", "?", list(answers), "fact", [1], also=also or [])


ABSENT = Probe("a", "Which loyalty card?", [], "absent", [])


@pytest.mark.parametrize(
    ("alias", "answer"),
    [
        ("HX-48213", "hx-48213."),
        ("14 Harbour Lane", "**14 Harbour Lane**"),
        ("Bad Hersfeld", "„Bad Hersfeld“"),
        ("古川", "「古川」。"),
        ("只发邮件", "只发邮件。"),
        ("٢٧ زنقة وادي درعة", "27 زنقة وادي درعة۔"),
        ("พะเยา", "พะเยา!"),
        ("5%", "5%."),
        ("-5", "-5"),
        ("HX-48213", "- HX-48213"),
    ],
)
def test_an_exact_answer_is_an_alias_but_for_what_surrounds_it(alias: str, answer: str) -> None:
    assert score_answer(probe("other", alias), answer) == AnswerScore(exact=True, f1=1.0, contains=True, right=True)


@pytest.mark.parametrize(("alias", "answer"), [("5", "-5"), ("5", "5%"), ("5", "five"), ("Friday", "on Friday")])
def test_what_belongs_to_the_answer_is_not_stripped(alias: str, answer: str) -> None:
    assert not score_answer(probe(alias), answer).exact


@pytest.mark.parametrize(
    ("alias", "answer", "f1"),
    [
        # 3 of 5 words said, 3 of 3 wanted: 2 * 3 / (5 + 3)
        ("14 Harbour Lane", "It's 14 Harbour Lane", 6 / 8),
        # number of occurrences: 1 of 3 said, 1 of 1 wanted: 2 / 4
        ("no", "no, no, no", 2 / 4),
        # 1 of 2, 1 of 1: numbers are whole, so 1.5 has nothing in common with 1.6
        ("1.5", "about 1.5", 2 / 3),
        ("1.5", "1.6", 0.0),
        # 只|发|邮|件 in 请|只|发|邮|件: 2 * 4 / (5 + 4)
        ("只发邮件", "请只发邮件。", 8 / 9),
        # 只|发|邮|件 against 发|邮|件: 2 * 3 / (3 + 4)
        ("只发邮件", "发邮件", 6 / 7),
        # メ|ー|ル|だ|け in メ|ー|ル|だ|け|で|す: 2 * 5 / (7 + 5); the long vowel mark is a character too
        ("メールだけ", "メールだけです", 10 / 12),
        # a number among characters is one word: 3|月|15|日 in 3|月|15|日|で|す: 2 * 4 / (6 + 4)
        ("3月15日", "３月１５日です。", 8 / 10),
        # ว|ั|น... a mark belongs to its letter: วั|น|ศุ|ก|ร์ in เ|ป็|น|วั|น|ศุ|ก|ร์: 2 * 5 / (8 + 5)
        ("วันศุกร์", "เป็นวันศุกร์", 10 / 13),
        # يوم|الجمعة in في|يوم|الجمعة, vowel points ignored: 2 * 2 / (3 + 2)
        ("يوم الجمعة", "في يَوم الجمعة", 4 / 5),
        # 27|زنقة|وادي|درعة against زنقة|وادي|درعة: 2 * 3 / (3 + 4)
        ("27 زنقة وادي درعة", "زنقة وادي درعة", 6 / 7),
        ("Friday", "Monday", 0.0),
        ("—", "—", 0.0),
    ],
)
def test_f1_by_hand(alias: str, answer: str, f1: float) -> None:
    assert score_answer(probe(alias), answer).f1 == pytest.approx(f1)


def test_f1_is_that_of_the_best_alias() -> None:
    assert score_answer(probe("by e-mail only, never by phone", "e-mail"), "E-mail").f1 == 1.0


@pytest.mark.parametrize(
    ("alias", "answer", "right"),
    [
        ("HX-48213", "The order number is HX-48213.", True),
        ("HX-48213", "The order number is HX-482130.", False),
        ("古川", "荷物は古川にあります。", True),
        ("古川", "荷物は苫小牧にあります。", False),
        ("桐乡", "在桐乡濮院", True),
        ("พะเยา", "อยู่ที่พะเยาค่ะ", True),
        ("27", "البيت رقم ٢٧", True),
        ("27", "البيت رقم ٢٧١", False),
        ("HX-48213", "UNKNOWN", False),
    ],
)
def test_an_answer_is_right_when_it_holds_an_alias(alias: str, answer: str, right: bool) -> None:
    score = score_answer(probe(alias), answer)
    assert (score.contains, score.right) == (right, right)


def test_all_answers_that_are_needed() -> None:
    both = probe("Friday", "on Friday", also=[["14 Harbour Lane"], ["Ada"]])
    assert score_answer(both, "Friday, 14 Harbour Lane; Ada.") == AnswerScore(True, 1.0, True, True)
    # on|friday|14|harbour|lane|ada, wanted the same, said two words more: 2 * 6 / (8 + 6)
    assert score_answer(both, "On Friday to 14 Harbour Lane for Ada") == AnswerScore(False, 12 / 14, True, True)
    # one of the three: 2 * 1 / (1 + 5)
    assert score_answer(both, "Friday") == AnswerScore(False, 2 / 6, False, False)


@pytest.mark.parametrize("answer", [None, "", " \n", "\u200b"])
def test_no_answer_is_wrong_everywhere(answer: str | None) -> None:
    assert score_answer(probe("5"), answer) == WRONG
    assert score_answer(ABSENT, answer) == WRONG


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("UNKNOWN", True),
        ("unknown.", True),
        ("**Unknown**", True),
        ("The answer is UNKNOWN: no card was ever spoken of here.", True),
        ("UNKNOWN입니다", True),
        ("UNKNOWN。会話では述べられていません。", True),
        ("UNKNOWNครับ", True),
        ("The gold card.", False),
        ("unknown_card", False),
        ("unknowns", False),
        # 13 words, the 13th one too many
        ("Unknown one two three four five six seven eight nine ten eleven twelve", False),
        # 1 word and 24 characters that count as 12: 13
        ("UNKNOWN" + "他说的是金卡而不是银卡" * 2 + "对吧", False),
    ],
)
def test_what_was_never_said_is_rightly_unknown(answer: str, right: bool) -> None:
    assert score_answer(ABSENT, answer) == AnswerScore(False, 0.0, False, right)


def test_every_alias_of_the_core_dataset_is_a_right_answer_to_its_probe() -> None:
    probes = [one for conversation in load_dataset("core").conversations for one in conversation.probes]
    assert len(probes) > 800
    for one in probes:
        for alias in one.answers if not one.also else ():
            assert score_answer(one, f"{alias}.") == AnswerScore(True, 1.0, True, True)


@given(st.text(max_size=40), st.lists(st.text(max_size=20), max_size=3))
def test_any_text_has_a_score(answer: str, aliases: list[str]) -> None:
    score = score_answer(probe(*aliases), answer)
    assert 0.0 <= score.f1 <= 1.0
