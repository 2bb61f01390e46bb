"""Each strategy on a conversation whose result is worked out by hand; `Words` counts a token a word."""

from collections.abc import Sequence

import pytest

from ctxbench.context.failures import CannotFit, CompressionFailed
from ctxbench.context.strategies.anchored import Anchored
from ctxbench.context.strategies.density import Density
from ctxbench.context.strategies.exact_check import ExactCheck
from ctxbench.context.strategies.head_tail import HeadTail
from ctxbench.context.strategies.hierarchical import Hierarchical
from ctxbench.context.strategies.hybrid import Hybrid
from ctxbench.context.strategies.importance import Importance
from ctxbench.context.strategies.mask_tools import MaskTools
from ctxbench.context.strategies.none import NoCompression
from ctxbench.context.strategies.prune_words import PruneWords
from ctxbench.context.strategies.running_summary import RunningSummary
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.strategies.token_window import TokenWindow
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.tokenizers import CachedTokenizer
from tests.context.words import Words, assistant, call, result, system, user

WORDS = Words()
CHAT = [
    system("be brief"),  # 3 tokens
    user("my order is late"),  # 5
    assistant("I am sorry"),  # 4
    user("where is it"),  # 4
    call("find", "a", "b"),  # 5
    result("a", "dock seven"),  # 3
    result("b", "dock nine"),  # 3
    assistant("at dock seven"),  # 4
    user("thank you"),  # 3
]
"""34 tokens."""


@pytest.fixture(autouse=True)
def small_summaries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets that can be counted by hand leave less room than a summary is otherwise written for."""
    for module in ("summarised", "hierarchical", "anchored"):
        monkeypatch.setattr(f"ctxbench.context.strategies.{module}.LEAST_TOKENS", 16)


class Writes:
    """A summarizer that numbers its calls, of so many words each, and keeps what it was shown."""

    def __init__(self, length: int = 2) -> None:
        self.shown: list[list[Message]] = []
        self._rest = " and" * (length - 2)

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
        self.shown.append(list(messages))
        return f"summary {len(self.shown)}{self._rest}"


def kept(context: Sequence[Message], chat: Sequence[Message] = CHAT) -> list[int]:
    return [next((place for place, old in enumerate(chat) if old is message), -1) for message in context]


def test_nothing_changes_within_the_budget() -> None:
    for strategy in (TokenWindow(WORDS), HeadTail(WORDS), MaskTools(WORDS), Density(WORDS), PruneWords(WORDS)):
        assert strategy.compress(CHAT, 34) == CHAT


@pytest.mark.parametrize(
    ("budget", "places"),
    [
        (33, [0, 1, 3, 4, 5, 6, 7, 8]),  # system 3 + last 3 + first 5 + the second turn 19 = 30
        (29, [0, 1, 8]),  # the second turn does not fit whole
        (10, [0, 8]),  # nor does the first user message
        (6, [0, 8]),
    ],
)
def test_token_window_keeps_whole_turns_and_the_first_user_message(budget: int, places: list[int]) -> None:
    assert kept(TokenWindow(WORDS).compress(CHAT, budget)) == places


def test_token_window_cuts_only_the_turn_under_way() -> None:
    chat = [user("fix it"), call("run", "a"), result("a", "x " * 20), call("run", "b"), result("b", "all good")]
    assert kept(TokenWindow(WORDS).compress(chat, 10), chat) == [0, 3, 4]  # 3 + (3 + 3); the older call is 24 more


def test_head_tail_fills_from_both_ends() -> None:
    # required: 3 + 3. Room of 26: half of it, 13, holds 5 + 4 + 4; the tail has 13 left: 4, then the calls' 11 no more
    assert kept(HeadTail(WORDS, 0.5).compress(CHAT, 32)) == [0, 1, 2, 3, 7, 8]


def test_mask_tools_masks_the_oldest_outputs_as_far_as_needed() -> None:
    chat = [
        user("look"), call("find", "a"), result("a", "word " * 50), call("find", "b"), result("b", "word " * 50),
        call("find", "c"), result("c", "word " * 50), user("and now"),
    ]  # fmt: skip
    context = MaskTools(WORDS, recent_results=1).compress(chat, 130)
    assert kept(context, chat) == [0, 1, -1, 3, 4, 5, 6, 7]
    assert context[2] == result("a", "[tool output removed: 250 characters]")
    assert [message.role for message in MaskTools(WORDS, 1).compress(chat, 80)] == [message.role for message in chat]
    again = MaskTools(WORDS, 1).compress(context, 80)
    assert again[2] is context[2], "a marker is not masked again"


def test_importance_keeps_numbers_before_talk() -> None:
    chat = [user("order 4711 is late"), user("well well well well"), user("and so it goes"), user("what now")]
    assert kept(Importance(WORDS).compress(chat, 9), chat) == [0, 3]  # 3 + 5 = 8; another of 5 does not fit


def test_importance_weights_are_checked() -> None:
    with pytest.raises(CtxbenchError, match="unknown strategy.weights 'loud'; known: decision"):
        Importance(WORDS, {"loud": 1.0})


def test_an_open_question_and_what_the_latest_message_asks_about_count() -> None:
    chat = [user("the lamp is brass"), assistant("the rug is woollen"), user("tell me about the rug")]
    assert kept(Importance(WORDS, {"similar": 5.0, "recent": 0.0}).compress(chat, 12), chat) == [1, 2]
    chat = [assistant("we have lamps here"), assistant("which lamp is it?"), assistant("we have rugs here")]
    assert kept(Importance(WORDS, {"open_question": 9.0}).compress(chat, 6), chat) == [1]


def test_density_keeps_the_sentence_that_tells_most() -> None:
    chat = [user("Well, it is so. The code is HX-48213. It is so, well."), assistant("It is so."), user("It is so.")]
    context = Density(WORDS).compress(chat, 9)  # 4 for the last message, 1 + 4 for the sentence
    assert context == [user("The code is HX-48213."), chat[2]]


def test_density_by_message_keeps_them_whole_and_says_nothing_twice() -> None:
    chat = [user("code 111"), user("code 111"), user("town Berne"), user("and")]
    assert kept(Density(WORDS, "message").compress(chat, 8), chat) == [0, 2, 3]
    with pytest.raises(CtxbenchError, match="unknown strategy.by 'word'; known: message, sentence"):
        Density(WORDS, "word")  # type: ignore[arg-type]


def test_density_keeps_a_call_with_its_shortened_results() -> None:
    chat = [
        user("look"), call("find", "a", "b"), result("a", "so so. Dock 7 at 14:30. So so."), result("b", "so so."),
        user("so so so"),
    ]  # fmt: skip
    context = Density(WORDS).compress(chat, 15)  # 4 + call 5 + two roles 2 + sentence 4
    assert context == [chat[1], result("a", "Dock 7 at 14:30."), result("b", ""), chat[4]]


def test_prune_words_keeps_rare_words_and_what_stands_between() -> None:
    chat = [user("so it was dock 4711, or so it was"), user("so it was or so it was")]
    context = PruneWords(WORDS).compress(chat, 12)  # 8 for the last message, 1 + 3 for the rest
    assert context == [user("dock 4711, or"), chat[1]]


def test_running_summary_is_one_and_takes_the_earlier_one_in() -> None:
    writes = Writes()
    chat = [system("be brief"), *(user(f"word number {number} " + "and " * 10) for number in range(12))]
    first = RunningSummary(WORDS, writes, summary_share=0.6).compress(chat, 60)
    assert [message.content for message in first[:2]] == ["be brief", "Previous conversation summary:\nsummary 2"]
    assert writes.shown[0] == chat[1:6]  # 14 tokens each; blocks of 64 and more
    again = RunningSummary(WORDS, writes, summary_share=0.6).compress([*first, *chat[1:6]], 60)
    assert [str(message.content).count("summary") for message in again].count(2) == 1
    assert writes.shown[2][0] == Message("summary", "summary 2")


def test_running_summary_folds_blocks() -> None:
    writes = Writes()
    chat = [user("a b c d e f g") for _ in range(40)]  # 8 tokens each
    RunningSummary(WORDS, writes, summary_share=1.0).compress(chat, 32)
    # room: 32 - 8 (last) - 4 (heading); blocks of at least 64 tokens (4 * 20, down to a power of two): 8 messages
    assert [len(shown) for shown in writes.shown] == [8, 9, 9, 9, 8]
    assert writes.shown[4][0] == Message("summary", "summary 4")


def test_hierarchical_joins_the_oldest_summaries() -> None:
    writes = Writes(15)
    chat = [user("a b c d e f g") for _ in range(41)]
    context = Hierarchical(WORDS, writes, parts=2, summary_share=1.0).compress(chat, 52)
    # room 40: two parts of 19. Five blocks of 64 tokens, 8 messages; joined after the third, the fourth and the fifth
    assert [len(shown) for shown in writes.shown] == [8, 8, 8, 2, 8, 2, 8, 2]
    lines = str(context[0].content).splitlines()
    assert [line.split(" and")[0] for line in lines] == ["Previous conversation summary:", "summary 8", "summary 7"]


def test_a_summary_needs_some_room() -> None:
    chat = [user("a b c d e f g") for _ in range(40)]
    assert RunningSummary(WORDS, Writes()).compress(chat, 27) == chat[-3:]  # 27 - 8 - 4 are not 16
    with pytest.raises(CtxbenchError, match="summary_share is 2"):
        RunningSummary(WORDS, Writes(), summary_share=2)


def test_a_summary_that_is_too_long_is_a_failure() -> None:
    class Rambles:
        def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
            return "word " * (max_tokens + 1)

    chat = [user("a b c d e f g") for _ in range(40)]
    with pytest.raises(CompressionFailed, match="over_long: a summary of .* tokens where 24 are left"):
        RunningSummary(WORDS, Rambles(), summary_share=1.0).compress(chat, 36)


def test_anchored_lists_values_word_for_word_and_only_the_newest() -> None:
    chat = [
        user("the deadline for the draft is 12 May"), assistant("fine " * 30),
        user("the deadline for the draft is 19 May"), assistant("fine " * 30), user("go on"),
    ]  # fmt: skip
    context = Anchored(WORDS, Writes(), summary_share=1.0).compress(chat, 60)
    assert context[0].content == (
        "Previous conversation summary:\nsummary 1\nExact values and rules:\n- the deadline for the draft is 19 May"
    )
    again = Anchored(WORDS, Writes(), summary_share=1.0).compress([*context[:1], *chat[1:2] * 2, user("go")], 50)
    assert str(again[0].content).endswith("- the deadline for the draft is 19 May")
    assert str(again[0].content).count("Exact values") == 1


@pytest.mark.parametrize(
    ("settings", "session", "thorough"),
    [
        ({"by": "messages", "threshold": 9}, "s", True),
        ({"by": "messages", "threshold": 10}, "s", False),
        ({"by": "tokens", "threshold": 34}, "s", True),
        ({"by": "tokens", "threshold": 35}, "s", False),
        ({"by": "cost", "threshold": 0.2}, "s", True),  # 34 tokens over 10 turns are 3.4, 20 % of 20 are 4
        ({"by": "cost", "threshold": 0.1}, "s", False),
        ({"by": "session", "sessions": ["vip-*"]}, "vip-3", True),
        ({"by": "session", "sessions": ["vip-*"]}, "s", False),
        ({"by": "session", "sessions": ["vip-*"]}, None, False),
    ],
)
def test_hybrid_decides(settings: dict[str, object], session: str | None, thorough: bool) -> None:
    hybrid = Hybrid(WORDS, SlidingWindow(WORDS, 1), NoCompression(WORDS), **settings)  # type: ignore[arg-type]
    assert (hybrid.compress(CHAT, 20, session_id=session) == CHAT) == thorough


def test_hybrid_settings_are_checked() -> None:
    with pytest.raises(CtxbenchError, match="unknown strategy.by 'mood'"):
        Hybrid(WORDS, NoCompression(WORDS), NoCompression(WORDS), by="mood")  # type: ignore[arg-type]
    with pytest.raises(CtxbenchError, match="strategy.sessions, a list of patterns"):
        Hybrid(WORDS, NoCompression(WORDS), NoCompression(WORDS), by="session")


def test_what_must_stay_and_does_not_fit_is_told() -> None:
    with pytest.raises(CannotFit) as failure:
        TokenWindow(WORDS).compress(CHAT, 5)
    assert str(failure.value) == "cannot_fit: system messages 3 tokens, the last user message 3 tokens; the budget is 5"
    assert kept(failure.value.messages) == [0, 8]


COUNTED = CachedTokenizer("words", lambda texts: [len(text.split()) for text in texts])


def test_the_exact_check_makes_a_count_based_window_fit() -> None:
    checked = ExactCheck(SlidingWindow(Chars4(), 8), COUNTED)
    assert kept(SlidingWindow(Chars4(), 8).compress(CHAT, 20)) == list(range(9))
    assert kept(checked.compress(CHAT, 20)) == [0, 7, 8]  # 3 + 3, then 4; the calls' 11 do not fit
    assert checked.estimate_tokens(CHAT) == 34


def test_the_exact_check_drops_the_summary_last() -> None:
    class Two:
        def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
            return "two words"

    checked = ExactCheck(SmartSummary(Chars4(), Two(), 5, 1), COUNTED)
    assert kept(checked.compress(CHAT, 17)) == [0, -1, 7, 8]  # 3 + 3 + the summary's 6 + 4
    assert kept(checked.compress(CHAT, 11)) == [0, 7, 8]


def test_the_exact_check_asks_again_for_less() -> None:
    budgets: list[int] = []

    class Asked(NoCompression):
        def compress(
            self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None
        ) -> list[Message]:
            budgets.append(max_tokens)
            return list(messages[-max_tokens // 2 :])

    checked = ExactCheck(Asked(WORDS), COUNTED)
    assert kept(checked.compress(CHAT[1:], 16), CHAT[1:]) == [4, 5, 6, 7]  # all 31, then 3 + 3 + 4 + 3
    assert budgets == [16, 8]  # 0.98 * 16 * 16 / 31
