from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.storage.sqlite import SqliteStorage
from ctxbench.context.strategies.none import NoCompression
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.strategies.token_window import TokenWindow
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import chat


class Writes:
    """A summarizer that writes what it is told, or raises it."""

    def __init__(self, *answers: str | Exception | None) -> None:
        self.answers = list(answers)
        self.limits: list[int] = []

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        self.limits.append(max_tokens)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def smart(*answers: str | Exception | None) -> SmartSummary:
    return SmartSummary(Chars4(), Writes(*answers), 2, 2)


def filled(manager: ContextManager, messages: Sequence[Message], session: str = "s") -> ContextManager:
    for message in messages:
        manager.add_message(session, message)
    return manager


LONG = chat(*(f"This is message number {index} of a long chat." for index in range(10)))


def test_a_context_within_the_budget_is_the_history() -> None:
    manager = filled(ContextManager(SlidingWindow(Chars4(), 2), 1000), LONG)
    context = manager.build_context("s")
    assert (context.messages, context.outcome) == (LONG, "fits")
    assert context.estimate == context.estimate_before == Chars4().estimate(LONG)


def test_over_the_budget_it_is_compressed_and_the_store_keeps_all() -> None:
    manager = filled(ContextManager(SlidingWindow(Chars4(), 2), 50), LONG)
    context = manager.build_context("s")
    assert context.messages == [LONG[0], *LONG[-2:]]
    assert context.outcome == "compressed"
    assert manager.storage.load("s") == LONG


def test_write_back_stores_the_compressed_context() -> None:
    manager = filled(ContextManager(SlidingWindow(Chars4(), 2), 50, write_back=True), LONG)
    assert manager.get_context("s") == manager.storage.load("s") == [LONG[0], *LONG[-2:]]
    manager.add_message("s", Message("user", "next"))
    assert manager.build_context("s").outcome == "fits"


def test_a_strategy_that_can_drop_nothing_ends_in_one_step() -> None:
    manager = filled(ContextManager(SlidingWindow(Chars4(), 20), 5, write_back=True), LONG)
    assert manager.build_context("s").outcome == "unchanged"
    assert manager.stats("s").over_budget == 1


def test_the_summary_stands_between_system_and_recent_messages() -> None:
    manager = filled(ContextManager(smart("They count messages."), 60), LONG)
    summary = Message("system", "Previous conversation summary:\nThey count messages.")
    assert manager.get_context("s") == [LONG[0], summary, *LONG[-2:]]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [(ModelError("it is down"), "error"), ("  \n", "empty"), (None, "empty"), ("long " * 500, "over_long")],
)
def test_keep_loses_nothing_and_the_failure_is_told(answer: str | Exception | None, kind: str) -> None:
    manager = filled(ContextManager(smart(answer), 50, retries=0), LONG)
    context = manager.build_context("s")
    assert (context.outcome, context.messages) == ("kept", LONG)
    assert context.failure is not None
    assert context.failure.startswith(kind)
    assert manager.stats("s").failures == 1
    assert manager.storage.load("s") == LONG


def test_a_failed_summary_is_never_written_back() -> None:
    manager = filled(ContextManager(smart(""), 50, retries=0, write_back=True), LONG)
    manager.get_context("s")
    assert manager.storage.load("s") == LONG


def test_fallback_compresses_without_a_summary() -> None:
    manager = ContextManager(
        smart(""), 50, retries=0, on_failure="fallback", fallback=SlidingWindow(Chars4(), 3), write_back=True
    )
    context = filled(manager, LONG).build_context("s")
    assert (context.outcome, context.messages) == ("fallback", [LONG[0], *LONG[-3:]])
    assert manager.storage.load("s") == context.messages


def test_raise_raises() -> None:
    manager = filled(ContextManager(smart(""), 50, retries=0, on_failure="raise"), LONG)
    with pytest.raises(CompressionFailed, match="empty"):
        manager.get_context("s")


def test_a_failure_is_tried_again() -> None:
    manager = filled(ContextManager(smart(ModelError("busy"), "", "They count."), 60, retries=2, backoff_s=0.001), LONG)
    assert manager.build_context("s").outcome == "compressed"


def test_what_would_fail_again_is_not_tried_again() -> None:
    summarizer = Writes(CompressionFailed("empty", "nothing fits", final=True))
    manager = filled(ContextManager(SmartSummary(Chars4(), summarizer, 2, 2), 50, retries=5, backoff_s=60), LONG)
    assert manager.build_context("s").outcome == "kept"
    assert len(summarizer.limits) == 1


def test_a_summary_has_the_room_that_the_budget_leaves() -> None:
    summarizer = Writes("Short.")
    for budget in (50, 90, 100_000):
        messages = LONG if budget < 1000 else chat(*(f"Message {i}. " + "x" * 8000 for i in range(80)))
        filled(ContextManager(SmartSummary(Chars4(), summarizer, 2, 2), budget), messages).get_context("s")
    kept = [LONG[0], *LONG[-2:], Message("system", "Previous conversation summary:\n")]
    assert summarizer.limits == [500 // 8, 500 // 8, 500]
    assert 90 - Chars4().estimate(kept) < 500 // 8  # the least that a summary may have


@pytest.mark.parametrize("n", [0, 1, 5])
def test_few_old_messages_are_not_summarised(n: int) -> None:
    strategy = SmartSummary(Chars4(), Writes("x"), 10 - n, n + 1)
    assert strategy.compress(LONG, 10) == LONG


def test_n_of_zero_keeps_no_recent_message() -> None:
    assert SlidingWindow(Chars4(), 0).compress(LONG, 10) == LONG[:1]


@pytest.mark.parametrize("name", ["recent_messages", "summarize_threshold", "summary_tokens"])
def test_negative_settings_are_refused(name: str) -> None:
    settings = {"recent_messages": 1, "summarize_threshold": 1, name: -1}
    with pytest.raises(CtxbenchError, match=f"strategy.{name} is -1; give 0 or more"):
        SmartSummary(Chars4(), Writes("x"), **settings)  # type: ignore[arg-type]


def test_the_system_prompt_is_set_and_replaced() -> None:
    manager = filled(ContextManager(NoCompression(Chars4()), 10), chat("hello", system=None))
    manager.set_system_prompt("s", "one")
    manager.set_system_prompt("s", "two")
    assert manager.get_context("s") == [Message("system", "two"), Message("user", "hello")]


def test_clear_forgets_messages_and_statistics() -> None:
    manager = filled(ContextManager(NoCompression(Chars4()), 10), LONG)
    manager.get_context("s")
    manager.clear("s")
    assert manager.get_context("s") == []
    assert manager.stats("s").contexts == 1


def test_the_estimate_follows_a_history_that_somebody_else_rewrote() -> None:
    manager = filled(ContextManager(NoCompression(Chars4()), 10_000), LONG)
    manager.build_context("s")
    rewritten = [Message("system", "x" * 400), *LONG[1:]]
    manager.storage.save("s", rewritten)
    assert manager.build_context("s").estimate == Chars4().estimate(rewritten)


def test_what_the_application_does_to_its_context_changes_no_later_estimate() -> None:
    manager = filled(ContextManager(NoCompression(Chars4()), 10_000), LONG)
    sent = manager.get_context("s")
    reply = Message("assistant", "x" * 400)
    sent.append(reply)
    manager.add_message("s", reply)
    assert manager.build_context("s").estimate == Chars4().estimate([*LONG, reply])


def test_an_append_during_a_compression_is_not_lost(tmp_path: Path) -> None:
    """With write-back, what is said while a slow summary is written stays after it."""
    storage = SqliteStorage(tmp_path / "s.sqlite")
    late = Message("user", "said meanwhile")

    class Slow(Writes):
        def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
            storage.append("s", late)
            return "They count."

    strategy = SmartSummary(Chars4(), Slow("x"), 2, 2)
    manager = filled(ContextManager(strategy, 50, storage=storage, write_back=True), LONG)
    context = manager.get_context("s")
    assert storage.load("s") == [*context, late]


def test_one_manager_serves_many_threads() -> None:
    manager = ContextManager(SlidingWindow(Chars4(), 4), 60, write_back=False)

    def talk(session: str) -> int:
        for message in LONG * 5:
            manager.add_message(session, message)
            manager.get_context(session)
        return len(manager.storage.load(session))

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(talk, [f"session {i % 4}" for i in range(8)]))[-1] > 0
    assert sum(len(manager.storage.load(f"session {i}")) for i in range(4)) == 8 * 5 * len(LONG)


@pytest.mark.parametrize(
    ("settings", "what"),
    [({"on_failure": "shrug"}, "keep, fallback or raise"), ({"on_failure": "fallback"}, "needs a fallback strategy")],
)
def test_wrong_policies_are_refused(settings: dict[str, str], what: str) -> None:
    with pytest.raises(CtxbenchError, match=what):
        ContextManager(NoCompression(Chars4()), 10, **settings)  # type: ignore[arg-type]


def test_what_cannot_fit_is_given_alone_and_told_in_one_step() -> None:
    manager = filled(ContextManager(TokenWindow(Chars4()), 10), LONG, "s")
    context = manager.build_context("s")
    assert context.outcome == "cannot_fit"
    assert context.messages == [LONG[0], LONG[-2]]
    assert context.failure is not None
    assert "system messages 4 tokens, the last user message 11 tokens; the budget is 10" in context.failure
    assert manager.storage.load("s") == LONG
    stats = manager.stats("s")
    assert (stats.failures, stats.over_budget) == (1, 1)


def test_a_context_is_mended_for_a_provider_and_says_how() -> None:
    manager = filled(ContextManager(smart("What was said."), 60, repair="qwen", write_back=True), LONG)
    context = manager.build_context("s")
    assert [message.role for message in context.messages] == ["system", "user", "assistant"]
    assert context.messages[0].content == "Be helpful.\n\nPrevious conversation summary:\nWhat was said."
    assert context.repairs == ("merged 2 system messages into the first",)
    assert [message.role for message in manager.storage.load("s")] == ["system", "system", "user", "assistant"]
    assert filled(ContextManager(NoCompression(Chars4()), 900, repair="openai"), LONG).build_context("s").repairs == ()
    with pytest.raises(CtxbenchError, match="unknown profile 'cohere'; known: anthropic"):
        ContextManager(NoCompression(Chars4()), 900, repair="cohere")
