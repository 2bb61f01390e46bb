import msgspec
import pytest

from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.none import NoCompression
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.replay import asks, replay
from ctxbench.experiments.retention import budget_tokens, compare_messages, run_conversation
from ctxbench.runs.schema import ContextRow, RetentionRow
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.tokenizers import CachedTokenizer

WORDS = CachedTokenizer("words", lambda texts: [len(text.split()) for text in texts])


def run(conversation: Conversation, budget: float, n: int = 2) -> tuple[list[ContextRow], list[RetentionRow]]:
    return run_conversation(
        conversation,
        budget,
        make_manager=lambda _, tokens: ContextManager(SlidingWindow(Chars4(), n), tokens),
        tokenizer=WORDS,
        strategy="sliding",
        summarizer="none",
    )


def test_a_context_is_asked_for_before_each_assistant_turn_and_at_probes(small: Conversation) -> None:
    assert {seen: [probe.id for probe in probes] for seen, probes in asks(small).items()} == {
        2: [], 4: [], 6: [], 8: [], 9: ["order", "address", "choice", "loyalty"],
    }  # fmt: skip


def test_a_probe_in_the_middle_shares_the_turns_context(small: Conversation) -> None:
    early = msgspec.structs.replace(small.probes[0], after=3)
    conversation = msgspec.structs.replace(small, probes=[early])
    steps = list(replay(conversation, ContextManager(NoCompression(Chars4()), 10)))
    assert [(len(step.history), len(step.probes)) for step in steps] == [(2, 0), (4, 1), (6, 0), (8, 0)]
    assert steps[1].context.messages == small.messages[:4]


def test_replaying_leaves_no_session_behind(small: Conversation) -> None:
    manager = ContextManager(NoCompression(Chars4()), 10)
    list(replay(small, manager))
    assert manager.storage.load("small") == []


def test_rows_by_hand(small: Conversation) -> None:
    contexts, samples = run(small, 20)
    last = contexts[-1]
    # words of roles and contents: "system" 1 + "Be helpful." 2, then the last two messages: 6 + 3
    assert last.tokens_context == 3 + 6 + 3
    assert last.tokens_full == sum(len(f"{m.role} {m.content}".split()) for m in small.messages)
    assert (last.kept, last.dropped, last.added, last.round, last.outcome) == (3, 6, 0, 4, "compressed")
    assert [row.over_budget for row in contexts] == [row.tokens_context > 20 for row in contexts]
    by_id = {row.probe: row for row in samples}
    assert {name: row.retained for name, row in by_id.items()} == {
        "order": False, "address": False, "choice": True, "loyalty": None,
    }  # fmt: skip
    assert [row.retained_full for row in samples] == [True, True, True, None]
    assert [row.retained_empty for row in samples] == [False, False, False, None]
    assert (by_id["order"].position, by_id["choice"].position, by_id["loyalty"].position) == (1 / 8, 7 / 8, None)
    assert (by_id["choice"].recall, by_id["loyalty"].recall) == (1.0, None)
    assert all(row.answered is None for row in samples)


def test_a_budget_that_everything_fits_keeps_everything(small: Conversation) -> None:
    contexts, samples = run(small, 10_000)
    assert {row.outcome for row in contexts} == {"fits"}
    assert [row.retained for row in samples] == [True, True, True, None]


def test_a_budget_below_the_system_message_is_recorded_and_not_an_error(small: Conversation) -> None:
    contexts, samples = run(small, 2, n=0)
    assert all(row.over_budget for row in contexts)
    assert contexts[-1].kept == 1
    assert [row.retained for row in samples] == [False, False, False, None]


def test_one_message_above_the_budget_is_recorded(small: Conversation) -> None:
    huge = Message("user", "word " * 5000)
    conversation = msgspec.structs.replace(small, messages=[*small.messages, huge], probes=[])
    contexts, samples = run(conversation, 100)
    assert samples == []
    assert [row.over_budget for row in contexts] == [False] * 4


@pytest.mark.parametrize(("budget", "tokens"), [(2000, 2000), (1.0, 57), (0.5, 28), (2, 2)])
def test_budgets(small: Conversation, budget: float, tokens: int) -> None:
    assert budget_tokens(budget, small, WORDS) == tokens


@pytest.mark.parametrize("budget", [0, -5, 1.5, "many", True])
def test_wrong_budgets_are_told(small: Conversation, budget: float) -> None:
    with pytest.raises(CtxbenchError, match="budget is"):
        budget_tokens(budget, small, WORDS)


def test_messages_are_compared_by_what_they_say() -> None:
    a, b = Message("user", "a"), Message("user", "b")
    same = Message("user", "a")
    assert compare_messages([a, b, a], [same, Message("system", "new")]) == (1, 2, 1)
    assert compare_messages([a, a], [a, a, a]) == (2, 0, 1)


def test_probes_with_several_places_stand_in_their_middle(small: Conversation) -> None:
    probe = Probe("two", "?", ["HX-48213"], "multi", [1, 7], also=[["the brass one"]])
    _, samples = run(msgspec.structs.replace(small, probes=[probe]), 1000)
    assert samples[0].position == 0.5
    assert samples[0].retained
