from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.none import NoCompression
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.baselines import empty, oracle, random_messages
from ctxbench.experiments.filler import filler
from ctxbench.experiments.replay import asks, replay
from ctxbench.experiments.retention import Setup, budget_tokens, common_prefix, compare_messages, run_conversation
from ctxbench.runs.schema import ContextRow, RetentionRow
from ctxbench.tokens.estimators.chars4 import Chars4
from ctxbench.tokens.tokenizers import CachedTokenizer

WORDS = CachedTokenizer("words", lambda texts: [len(text.split()) for text in texts])


def setup(n: int = 2, **fields: Any) -> Setup:
    return Setup(
        make_manager=lambda _, tokens: ContextManager(
            SlidingWindow(Chars4(), n), tokens, write_back=bool(fields.get("rounds"))
        ),
        tokenizer=WORDS,
        strategy="sliding",
        summarizer="none",
        **fields,
    )


def run(
    conversation: Conversation, budget: float, n: int = 2, **fields: Any
) -> tuple[list[ContextRow], list[RetentionRow]]:
    return run_conversation(conversation, budget, setup(n, **fields))


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


def test_turns_are_told_from_contexts_that_only_probes_ask_for(small: Conversation) -> None:
    contexts, _ = run(small, 20)
    assert [(row.seen, row.turn) for row in contexts] == [(2, True), (4, True), (6, True), (8, True), (9, False)]


def test_baselines_by_hand(small: Conversation) -> None:
    _, samples = run(small, 20, seed=1)
    by_id = {row.probe: row for row in samples}
    # the evidence is one message of 10 words and its role, and fits into 20 with the system message's 3
    assert [row.retained_oracle for row in samples] == [True, True, True, None]
    assert by_id["loyalty"].retained_random is None
    again = {row.probe: row.retained_random for row in run(small, 20, seed=1)[1]}
    assert again == {row.probe: row.retained_random for row in samples}
    assert all(row.retained_random for row in run(small, 57)[1] if row.retained is not None)


def test_the_oracle_drops_the_oldest_evidence_when_the_budget_does_not_hold_all(small: Conversation) -> None:
    chosen = oracle(small.messages, [1, 3, 7], 3 + 10 + 6, WORDS)
    assert chosen == [small.messages[0], small.messages[3], small.messages[7]]
    assert oracle(small.messages, [1], 1, WORDS) == [small.messages[0], small.messages[1]]
    assert empty(small.messages) == [small.messages[0]]


def test_random_messages_fit_and_keep_their_order(small: Conversation) -> None:
    chosen = random_messages(small.messages, 30, WORDS, "seed")
    assert chosen[0] == small.messages[0]
    assert [small.messages.index(message) for message in chosen] == sorted(small.messages.index(m) for m in chosen)
    assert sum(len(f"{m.role} {m.content}".split()) for m in chosen) <= 30


def test_a_stale_value_that_survives_is_told(small: Conversation) -> None:
    probe = Probe("colour", "Which one?", ["white lamp"], "update", [6], stale=["the brass one"])
    conversation = msgspec.structs.replace(small, probes=[probe])
    (row,) = run(conversation, 20)[1]
    assert (row.retained, row.stale) == (False, True)
    assert run(small, 20)[1][0].stale is None


def test_the_head_that_did_not_change_is_counted(small: Conversation) -> None:
    contexts, _ = run(small, 1000)
    assert [row.prefix_tokens for row in contexts] == [0, *(row.tokens_context for row in contexts[:-1])]
    assert [row.prefix_tokens for row in run(small, 20)[0]][-1] == 3  # a window keeps the system message only
    a, b, c = small.messages[:3]
    assert common_prefix([a, b], [a, c, b]) == [a]


def test_rounds_go_on_with_other_talk_and_ask_all_again(small: Conversation) -> None:
    contexts, samples = run(small, 40, n=4, rounds=3)
    assert sorted({row.round for row in samples}) == [0, 1, 2, 3]
    assert [row.probe for row in samples if row.round == 3] == ["order", "address", "choice", "loyalty"]
    first = {row.probe: row.retained for row in samples if row.round == 0}
    last = {row.probe: row.retained for row in samples if row.round == 3}
    assert first["choice"]
    assert not last["choice"]  # four messages of other talk have pushed it out
    assert all(row.retained_full for row in samples if row.retained is not None)
    assert contexts[-1].tokens_full > contexts[4].tokens_full


def test_filler_is_seeded_long_enough_and_holds_no_answer(small: Conversation) -> None:
    talk = list(filler(small, 100, WORDS, "1"))
    assert talk == list(filler(small, 100, WORDS, "1"))
    assert talk != list(filler(small, 100, WORDS, "2"))
    assert [message.role for message in talk] == ["user", "assistant"] * (len(talk) // 2)
    assert sum(len(f"{m.role} {m.content}".split()) for m in talk) >= 100
    known = msgspec.structs.replace(small, probes=[Probe("p", "?", ["report", "Bristol", "parking"], "fact", [1])])
    assert not any(
        word in str(m.content) for m in filler(known, 200, WORDS, "1") for word in ("report", "Bristol", "parking")
    )


def test_models_are_asked_about_each_probe_with_the_compressed_context(small: Conversation) -> None:
    seen: list[tuple[str, int]] = []

    def answer(probe: Probe, messages: Sequence[Message]) -> dict[str, object]:
        seen.append((probe.id, len(messages)))
        return {"answer": "x", "answered": probe.id == "order", "exact": False, "f1": 0.5, "judged": None}

    _, samples = run(small, 20, answer=answer)
    assert seen == [("order", 3), ("address", 3), ("choice", 3), ("loyalty", 3)]
    assert [row.answered for row in samples] == [True, False, False, False]
