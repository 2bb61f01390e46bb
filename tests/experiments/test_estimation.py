import pytest

from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.estimation import estimate_contexts, estimate_texts
from ctxbench.experiments.speed import measure
from ctxbench.tokens.estimators.calibrated import Calibrated
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.estimators.framed import Framed
from ctxbench.tokens.estimators.observed import Observed
from ctxbench.tokens.tokenizers import CachedTokenizer

WORDS = CachedTokenizer("words", lambda texts: [len(text.split()) for text in texts])


def test_a_row_a_message(small: Conversation) -> None:
    rows = list(estimate_texts(small, {"chars4": Chars4()}, {"words": WORDS}))
    assert len(rows) == 9
    first = rows[0]
    assert (first.text, first.language, first.kind, first.parallel) == ("small#0", "en", "chat", None)
    assert (first.characters, first.tokens, first.estimates) == (17, {"words": 3}, {"chars4": 4})  # systemBe helpful.


def test_kinds_and_parallel_texts_are_noted() -> None:
    call = Message("assistant", None, tool_calls=(ToolCall("c", FunctionCall("f", '{"a": 1}')),))
    told = Conversation("x", "en", "", [call], scenario="travel", tags=["parallel"])
    line = Conversation("deu:17", "de", "lines", [Message("user", "eins")])
    (one,), (two,) = (list(estimate_texts(it, {}, {})) for it in (told, line))
    assert (one.kind, one.parallel) == ("json", "travel")
    assert (two.kind, two.parallel) == ("prose", "17")


def test_a_row_a_context_with_the_whole_prompt(small: Conversation) -> None:
    rows = list(estimate_contexts(small, {"chars4": Chars4()}, {"words": WORDS}, observed="words"))
    assert [row.seen for row in rows] == [2, 4, 6, 8]
    first = rows[0]
    assert first.tokens == {"words": 3 + 11}
    # texts without their roles, ChatML's 5 a message (for tokenizers without a framing of their own), 3 a request
    assert first.prompt == {"words": 2 + 10 + 2 * 5 + 3}
    assert first.estimates == {"chars4": Chars4().estimate(small.messages[:2])}
    assert rows[-1].estimates == {"chars4": Chars4().estimate(small.messages[:8])}


def test_observed_estimators_learn_the_prompt_and_forget_between_conversations(small: Conversation) -> None:
    estimators = {"observed": Observed(Chars4())}
    for _ in range(2):
        rows = list(estimate_contexts(small, estimators, {"words": WORDS}, observed="words"))
        assert rows[0].estimates["observed"] == Chars4().estimate(small.messages[:2])
        scale = rows[0].prompt["words"] / rows[0].estimates["observed"]
        assert rows[1].estimates["observed"] == pytest.approx(scale * Chars4().estimate(small.messages[:4]), abs=1)


def test_an_estimator_that_gives_nonsense_is_named(small: Conversation) -> None:
    class Negative(Chars4):
        def tokens(self, size: int) -> int:
            return -1

    with pytest.raises(CtxbenchError, match="estimator bad gave -1 for text small#0"):
        list(estimate_texts(small, {"bad": Negative()}, {"words": WORDS}))
    with pytest.raises(CtxbenchError, match="estimator bad gave -1 for text small#0-1"):
        list(estimate_contexts(small, {"bad": Negative()}, {"words": WORDS}, observed="words"))


def test_speed_is_measured_of_what_does_its_own_work() -> None:
    estimators = {"chars4": Chars4(), "calibrated": Calibrated(), "framed": Framed(Chars4())}
    speeds = measure(["some text", "other text"] * 10, estimators, {"words": WORDS})
    assert [(speed.name, speed.kind) for speed in speeds] == [
        ("chars4", "estimator"), ("calibrated", "estimator"), ("words", "tokenizer"), ("words, counted once", "cached"),
    ]  # fmt: skip
    assert all(speed.us_per_text > 0 and speed.mb_per_s > 0 for speed in speeds)
