from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from omegaconf import OmegaConf

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import Conversation, Message, Probe, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError, Purpose, Reply
from ctxbench.scoring.judges import Counts, JudgeReport, LlmJudge, Planted, examine, planted, trusted, verdict
from ctxbench.scoring.retained import found
from ctxbench.text.normalise import normalise
from tests.conftest import ROOT

PROMPT = "Q: {question}\nE: {answers}\nA: {answer}"
ORDER = Probe("order", "Which order?", ["HX-48213", "48213"], "identifier", [1])


class Says:
    """Says what a function makes of the prompt."""

    name = "says"

    def __init__(self, say: Callable[[str], str | None]) -> None:
        self.say = say
        self.prompts: list[str] = []

    def complete(self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int) -> Reply:
        assert (purpose, temperature, max_tokens) == ("judge", 0.0, 8)
        self.prompts.append(content_text(messages[0]))
        return Reply(self.say(self.prompts[-1]), "stop", 10, 1)


class Fails:
    name = "fails"

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        raise ModelError("model fails: HTTP 500")


def says(text: str | None) -> LlmJudge:
    return LlmJudge(Says(lambda prompt: text), PROMPT)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("CORRECT", True),
        ("correct.", True),
        ("**Correct**", True),
        ("_CORRECT_", True),
        ("Verdict: CORRECT", True),
        ("The answer is correct.", True),
        ("ＣＯＲＲＥＣＴ", True),
        ("INCORRECT", False),
        (" incorrect\n", False),
        ("The answer is incorrect", False),
        ("INCORRECT, not correct", False),
        ("It isn’t correct", False),
        ("not CORRECT", False),
        ("not entirely correct", False),
        ("Partially correct", False),
        ("CORRECT or INCORRECT?", None),
        ("Corrected by the user", None),
        ("The answer matches what was", None),
        ("INCORR", None),
        ("", None),
    ],
)
def test_the_verdict_is_found_in_what_the_model_says(text: str, said: bool | None) -> None:
    assert verdict(text) is said
    assert says(text).grade(ORDER, "48213") is said


def test_no_reply_is_unclear_and_a_failed_request_is_the_callers() -> None:
    assert says(None).grade(ORDER, "48213") is None
    with pytest.raises(ModelError, match="HTTP 500"):
        LlmJudge(Fails(), PROMPT).grade(ORDER, "48213")


@pytest.mark.parametrize("answer", [None, "", " \n"])
def test_no_answer_is_wrong_without_asking(answer: str | None) -> None:
    assert LlmJudge(Fails(), PROMPT).grade(ORDER, answer) is False


def test_the_prompt_holds_all_aliases_and_all_that_is_needed() -> None:
    model = Says(lambda prompt: "CORRECT")
    judge = LlmJudge(model, PROMPT)
    judge.grade(ORDER, "{48213}")
    judge.grade(Probe("m", "Both?", ["Friday"], "multi", [1], also=[["Ada", "Ms Moreau"]]), "Ada")
    judge.grade(Probe("a", "Card?", [], "absent", []), "Gold")
    assert model.prompts == [
        'Q: Which order?\nE: "HX-48213" or "48213"\nA: {48213}',
        'Q: Both?\nE: "Friday"; and also "Ada" or "Ms Moreau"\nA: Ada',
        'Q: Card?\nE: "UNKNOWN" (the conversation does not say)\nA: Gold',
    ]


def test_a_prompt_or_an_accuracy_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(CtxbenchError, match="judge.prompt: {question} and {answers} and {answer} must stand in it"):
        LlmJudge(Fails(), "{question} {answer}")
    with pytest.raises(CtxbenchError, match="least_accuracy is 80"):
        LlmJudge(Fails(), PROMPT, least_accuracy=80)


def test_the_prompt_that_comes_along_can_be_used() -> None:
    config = OmegaConf.load(ROOT / "configs" / "judge" / "llm.yaml")
    model = Says(lambda prompt: "INCORRECT")
    assert LlmJudge(model, config.prompt, config.least_accuracy, config.max_tokens).grade(ORDER, "HX-1") is False
    assert '"HX-48213" or "48213"' in model.prompts[0]


@pytest.fixture(scope="module")
def core() -> list[Conversation]:
    return load_dataset("core").conversations


@pytest.mark.parametrize("seed", [0, 1])
def test_what_is_planted_is_what_it_claims_in_every_language(core: list[Conversation], seed: int) -> None:
    chosen = planted(core, 10, seed)
    languages = {conversation.language for conversation in core}
    count = Counter((one.language, one.right) for one in chosen)
    assert count == {(language, right): 10 for language in languages for right in (True, False)}
    for one in chosen:
        said = normalise(one.answer)
        holds = [found(aliases, said) for aliases in [one.probe.answers, *one.probe.also]]
        assert all(holds) if one.right else not any(holds)


def test_all_probes_with_answers_can_be_planted_and_outdated_values_come_first(core: list[Conversation]) -> None:
    chosen = planted(core, 1000, 0)
    probes = [probe for conversation in core for probe in conversation.probes if probe.answers]
    assert len(chosen) == 2 * len(probes)
    outdated = [one for one in chosen if one.probe.stale and not one.right]
    assert len(outdated) == sum(bool(probe.stale) for probe in probes) > 80
    assert all(one.answer in one.probe.stale for one in outdated)


def test_the_seed_decides(core: list[Conversation]) -> None:
    assert planted(core, 5, 3) == planted(core, 5, 3)
    assert planted(core, 5, 3) != planted(core, 5, 4)


def test_wrong_answers_are_of_the_same_category_where_there_are_any_and_never_half_right() -> None:
    probes = [
        Probe("day", "When?", ["Friday at 9:30"], "date", [1]),
        Probe("other", "When then?", ["Friday"], "date", [1]),
        Probe("third", "And when?", ["1 May"], "date", [1]),
        Probe("name", "Who?", ["Ada"], "fact", [1]),
        Probe("card", "Which card?", [], "absent", []),
    ]
    conversation = Conversation("c", "en", "test", [], probes=probes)
    wrong = {one.probe.id: one.answer for one in planted([conversation], 9, 0) if not one.right}
    assert wrong["day"] == wrong["other"] == "1 May"
    assert wrong["third"] in ("Friday at 9:30", "Friday")
    assert wrong["name"] in ("Friday at 9:30", "Friday", "1 May")
    assert len(wrong) == 4


def test_a_probe_that_stands_alone_cannot_be_planted(small: Conversation) -> None:
    alone = Conversation("c", "en", "test", [], probes=[ORDER])
    assert planted([alone], 5, 0) == []
    assert len(planted([alone, small], 5, 0)) == 6


PLANTED = [
    Planted("en", ORDER, "HX-48213", right=True),
    Planted("en", ORDER, "HX-1", right=False),
    Planted("th", ORDER, "48213", right=True),
    Planted("th", ORDER, "HX-2", right=False),
]


def test_a_judge_that_accepts_everything_is_not_trusted(core: list[Conversation]) -> None:
    report = examine(says("CORRECT"), planted(core, 3, 0))
    assert (report.n, report.accuracy) == (16 * 3 * 2, 0.5)
    assert (report.false_accepts, report.false_rejects, report.unclear) == (1.0, 0.0, 0.0)
    assert report.counts == Counts(48, 48, agreed=48, false_accepts=48, false_rejects=0, unclear=0)
    assert not trusted(report, 0.8)
    assert trusted(report, 0.5)


def test_a_judge_that_rejects_everything_is_not_trusted() -> None:
    report = examine(says("INCORRECT"), PLANTED)
    assert (report.accuracy, report.false_accepts, report.false_rejects) == (0.5, 0.0, 1.0)
    assert not trusted(report, 0.8)


def test_a_judge_that_is_unclear_agrees_with_nothing() -> None:
    report = examine(says("Well"), PLANTED)
    assert (report.accuracy, report.false_accepts, report.false_rejects, report.unclear) == (0.0, 0.0, 0.0, 1.0)
    assert not trusted(report, 0.8)


def test_a_judge_is_examined_by_language() -> None:
    # right, right | unclear, accepts a wrong one
    replies = {"HX-48213": "CORRECT", "HX-1": "INCORRECT", "48213": "Hm", "HX-2": "CORRECT"}
    report = examine(LlmJudge(Says(lambda prompt: replies[prompt.split("A: ")[1]]), PROMPT), PLANTED)
    english = JudgeReport(2, 1.0, 0.0, 0.0, 0.0, Counts(1, 1, 2, 0, 0, 0))
    thai = JudgeReport(2, 0.0, 1.0, 0.0, 0.5, Counts(1, 1, 0, 1, 0, 1))
    both = Counts(right=2, wrong=2, agreed=2, false_accepts=1, false_rejects=0, unclear=1)
    assert report == JudgeReport(4, 0.5, 0.5, 0.0, 0.25, both, {"en": english, "th": thai})
    assert trusted(report.by_language["en"], 0.8)
    assert not trusted(report.by_language["th"], 0.8)


def test_a_judge_cannot_be_examined_with_nothing() -> None:
    with pytest.raises(CtxbenchError, match="no probe has both"):
        examine(says("CORRECT"), [])
