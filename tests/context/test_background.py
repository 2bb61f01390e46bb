import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import BoundedSemaphore, Event, Lock
from typing import Any

import pytest

from ctxbench.context import background
from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.replay import replay
from ctxbench.models.base import Reply
from ctxbench.models.usage import ledger, note_usage
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import ROOT, chat
from tests.context.test_cached import contexts_of, model_at, talk_file
from tests.models.test_openai import GOOD, serve
from tests.test_cli import Run, run

__all__ = ["run", "serve"]  # fixtures

TEN = [Message(("user", "assistant")[i % 2], f"Message {i:03}".ljust(44 - 4 * (1 + i % 2), ".")) for i in range(400)]
"""Messages of ten tokens and a bit; with those of the budget below, numbers can be worked out by hand."""


class Last(EstimatorStrategy):
    """Keeps the last `kept` messages behind a note; notes where it ran, and does `before` first."""

    def __init__(self, kept: int = 2, before: Callable[[], object] = lambda: None) -> None:
        super().__init__(Chars4())
        self.kept, self.before = kept, before
        self.calls: list[tuple[str, int, int]] = []

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        where = "waited" if threading.current_thread() is threading.main_thread() else "ahead"
        self.calls.append((where, len(messages), max_tokens))
        if where == "ahead":
            self.before()
        return [Message("system", f"{len(messages) - self.kept} dropped"), *messages[-self.kept :]]


def add(manager: ContextManager, messages: Sequence[Message], session: str = "s") -> None:
    for message in messages:
        manager.add_message(session, message)


def settle(manager: ContextManager, session: str = "s") -> None:
    """Wait until nothing is under way for the session."""
    assert manager._background is not None
    running = manager._background._session(session).running
    if running is not None:
        running.exception(timeout=30)


def test_what_was_prepared_is_sent_with_the_messages_since() -> None:
    strategy = Last()
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:6])
    assert Chars4().estimate(TEN[:6]) < 70 <= Chars4().estimate(TEN[:7])
    assert manager.build_context("s").outcome == "fits"
    settle(manager)
    assert strategy.calls == []  # not near yet
    add(manager, TEN[6:7])
    assert manager.build_context("s").messages == TEN[:7]
    settle(manager)
    assert strategy.calls == [("ahead", 7, 70)]
    add(manager, TEN[7:10])
    context = manager.build_context("s")
    assert context.messages == [Message("system", "5 dropped"), *TEN[5:10]]
    assert (context.outcome, context.failure) == ("compressed", None)
    assert context.estimate_before == Chars4().estimate(TEN[:10])
    assert context.estimate == Chars4().estimate(context.messages) <= 100
    assert strategy.calls == [("ahead", 7, 70)]
    assert manager.storage.load("s") == TEN[:10]


@pytest.mark.parametrize("write_back", [False, True])
@pytest.mark.parametrize("kept", [2, 6])
def test_a_long_conversation_never_waits_and_seldom_compresses(write_back: bool, kept: int) -> None:
    """Each time, the next one is ready before the last one no longer serves, and is made of the whole history."""
    strategy = Last(kept)
    manager = ContextManager(strategy, 100, background_at=0.7, write_back=write_back)
    for seen, message in enumerate(TEN, start=1):
        manager.add_message("s", message)
        context = manager.build_context("s")
        settle(manager)
        assert context.messages[-kept:] == TEN[max(0, seen - kept) : seen]
        assert context.estimate <= 100
    assert {where for where, _, _ in strategy.calls} == {"ahead"}
    assert {limit for _, _, limit in strategy.calls} == {70}
    assert len(strategy.calls) < len(TEN) * (0.3 if kept == 2 else 0.7)
    if not write_back:
        assert max(seen for _, seen, _ in strategy.calls) > 390
        assert manager.storage.load("s") == TEN


def test_it_waits_for_the_rest_of_one_that_is_under_way() -> None:
    release = Event()
    manager = ContextManager(Last(before=lambda: release.wait(30)), 100, background_at=0.7)
    add(manager, TEN[:8])
    manager.get_context("s")
    add(manager, TEN[8:10])
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(manager.get_context, "s")
        time.sleep(0.1)
        assert not waiting.done()
        release.set()
        assert waiting.result(30) == [Message("system", "6 dropped"), *TEN[6:10]]


def test_one_that_does_not_fit_is_made_anew_from_the_whole_history_and_that_serves_on() -> None:
    strategy = Last()
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:8])
    manager.get_context("s")
    settle(manager)
    add(manager, TEN[8:20])  # more at once than there is room for
    assert manager.get_context("s") == [Message("system", "18 dropped"), *TEN[18:20]]
    assert strategy.calls == [("ahead", 8, 70), ("waited", 20, 100)]
    add(manager, TEN[20:22])
    assert manager.get_context("s") == [Message("system", "18 dropped"), *TEN[18:22]]
    assert len(strategy.calls) == 2


def test_while_the_next_one_is_written_the_last_one_serves() -> None:
    release, strategy = Event(), Last()
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:7])
    manager.get_context("s")
    settle(manager)
    strategy.before = lambda: release.wait(30)
    add(manager, TEN[7:13])
    assert manager.get_context("s") == [Message("system", "5 dropped"), *TEN[5:13]]
    short = Message("user", "ok")
    add(manager, [short])
    assert manager.get_context("s") == [Message("system", "5 dropped"), *TEN[5:13], short]  # without waiting
    assert strategy.calls == [("ahead", 7, 70), ("ahead", 13, 70)]
    release.set()
    settle(manager)
    add(manager, TEN[14:16])
    assert manager.get_context("s") == [Message("system", "11 dropped"), *TEN[11:13], short, *TEN[14:16]]


def test_asking_again_for_the_same_history_starts_nothing() -> None:
    strategy = Last(8)
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:8])
    for _ in range(4):
        manager.get_context("s")
        settle(manager)
    assert strategy.calls == [("ahead", 8, 70)]


def test_of_a_history_that_was_rewritten_nothing_is_used_and_nothing_is_waited_for() -> None:
    release = Event()
    strategy = Last(before=lambda: release.wait(30))
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:8])
    manager.get_context("s")
    rewritten = [Message("user", "something else"), *TEN[1:11]]
    manager.storage.save("s", rewritten)
    assert manager.get_context("s") == [Message("system", "9 dropped"), *TEN[9:11]]
    assert [where for where, _, _ in strategy.calls] == ["ahead", "waited"]
    release.set()
    settle(manager)
    assert manager.get_context("s") == [Message("system", "9 dropped"), *TEN[9:11]]


@pytest.mark.parametrize("error", [CompressionFailed("error", "down"), CtxbenchError("no key"), ZeroDivisionError()])
def test_a_failed_one_is_no_failure_of_the_context_but_is_counted_if_it_was_wanted(error: Exception) -> None:
    def fail() -> None:
        raise error

    strategy = Last(before=fail)
    manager = ContextManager(strategy, 100, background_at=0.7)
    for seen in (7, 8):
        add(manager, TEN[seen - 7 : seen] if seen == 7 else TEN[7:8])
        manager.get_context("s")
        settle(manager)
    assert [where for where, _, _ in strategy.calls] == ["ahead", "ahead"]  # tried again at the next turn
    assert manager.stats("s").failures == 0
    add(manager, TEN[8:11])
    context = manager.build_context("s")
    assert (context.outcome, context.failure) == ("compressed", None)
    assert context.messages == [Message("system", "9 dropped"), *TEN[9:11]]
    assert manager.stats("s").failures == 1


def test_where_compressing_fails_nothing_is_tried_ahead() -> None:
    class Fails(Last):
        def compress(self, *arguments: Any, **fields: Any) -> list[Message]:
            super().compress(*arguments, **fields)
            raise CompressionFailed("error", "down")

    strategy = Fails()
    manager = ContextManager(strategy, 100, background_at=0.7, retries=0)
    add(manager, TEN[:12])
    assert manager.build_context("s").outcome == "kept"
    settle(manager)
    assert [where for where, _, _ in strategy.calls] == ["waited"]


def test_clear_waits_for_nothing_and_what_was_under_way_comes_to_nothing() -> None:
    release = Event()
    strategy = Last(before=lambda: release.wait(30))
    manager = ContextManager(strategy, 100, background_at=0.7)
    add(manager, TEN[:8])
    manager.get_context("s")
    assert manager._background is not None
    under_way = manager._background._session("s").running
    started = time.perf_counter()
    manager.clear("s")
    assert time.perf_counter() - started < 10
    assert not under_way.done()  # type: ignore[union-attr]
    release.set()
    under_way.exception(timeout=30)  # type: ignore[union-attr]
    add(manager, TEN[:11])
    assert manager.get_context("s") == [Message("system", "9 dropped"), *TEN[9:11]]
    assert [where for where, _, _ in strategy.calls] == ["ahead", "waited"]
    assert manager.stats("s").contexts == 1


def test_eight_threads_share_sessions_and_each_has_one_compression_at_a_time() -> None:
    under_way: Counter[str | None] = Counter()
    most: Counter[str | None] = Counter()
    lock = Lock()

    class Counts(Last):
        def compress(self, messages: Any, max_tokens: int, *, session_id: str | None = None) -> list[Message]:
            ahead = threading.current_thread().daemon
            with lock:
                under_way[session_id] += ahead
                most[session_id] = max(most[session_id], under_way[session_id])
            time.sleep(0.002)
            with lock:
                under_way[session_id] -= ahead
            return super().compress(messages, max_tokens, session_id=session_id)

    manager = ContextManager(Counts(), 100, background_at=0.7)

    def talk(number: int) -> int:
        session = f"session {number % 4}"
        for count, message in enumerate(TEN[:60]):
            manager.add_message(session, message)
            context = manager.build_context(session)
            assert context.outcome in ("fits", "compressed")
            assert context.estimate <= 100
            if number == 7 and count == 30:
                manager.clear("session 0")
        return number

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(talk, range(8))) == list(range(8))
    assert len(manager.storage.load("session 1")) == 120
    assert max(most[f"session {number}"] for number in (1, 2, 3)) == 1
    for number in range(4):
        settle(manager, f"session {number}")


def test_when_all_threads_are_busy_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_free", BoundedSemaphore(1))
    release, strategy = Event(), Last()
    strategy.before = lambda: release.wait(30)
    manager = ContextManager(strategy, 100, background_at=0.7)
    for session in ("a", "b"):
        add(manager, TEN[:8], session)
        manager.get_context(session)
    assert len(strategy.calls) == 1
    release.set()
    settle(manager, "a")
    manager.get_context("b")
    settle(manager, "b")
    assert len(strategy.calls) == 2


def test_a_tool_result_is_never_sent_without_its_call() -> None:
    """The base ended between the two, and the strategy dropped the call."""
    call = Message("assistant", None, tool_calls=(ToolCall("c1", FunctionCall("find", "{}")),))
    result = Message("tool", "found", tool_call_id="c1")

    class DropsCalls(Last):
        def compress(self, messages: Any, max_tokens: int, *, session_id: str | None = None) -> list[Message]:
            made = super().compress(messages, max_tokens, session_id=session_id)
            return [message for message in made if not message.tool_calls or result in messages]

    for strategy, used in ((DropsCalls(4), False), (Last(4), True)):
        manager = ContextManager(strategy, 100, background_at=0.7)
        add(manager, [*TEN[:7], call])
        manager.get_context("s")
        settle(manager)
        add(manager, [result, *TEN[8:10]])
        messages = manager.get_context("s")
        assert call in messages
        assert result in messages
        assert [where for where, _, _ in strategy.calls][1:] == ([] if used else ["waited"])


def test_what_the_background_costs_is_counted_at_the_next_context() -> None:
    def ask() -> None:
        note_usage("summary", Reply("text", "length", 100, 10), 0.5)

    manager = ContextManager(Last(before=ask), 100, background_at=0.7)
    add(manager, TEN[:8])
    costs = []
    for seen in range(8, 11):
        with ledger() as usage:
            manager.get_context("s")
        settle(manager)
        entry = usage["summary"]
        costs.append((entry.calls, entry.prompt_tokens, entry.completion_tokens, entry.seconds, entry.truncated))
        add(manager, TEN[seen : seen + 1])
    assert costs == [(0, 0, 0, 0, 0), (1, 100, 10, 0.5, 1), (0, 0, 0, 0, 0)]


def test_with_write_back_an_append_during_the_compression_is_not_lost() -> None:
    manager = ContextManager(Last(), 100, background_at=0.7, write_back=True)
    add(manager, TEN[:8])
    manager.get_context("s")
    settle(manager)
    add(manager, TEN[8:10])
    context = manager.get_context("s")
    assert manager.storage.load("s") == context == [Message("system", "6 dropped"), *TEN[6:10]]
    add(manager, TEN[10:11])
    assert manager.get_context("s") == [*context, TEN[10]]


def test_with_write_back_the_next_one_is_made_of_what_was_stored() -> None:
    strategy = Last(7)
    manager = ContextManager(strategy, 100, background_at=0.7, write_back=True)
    add(manager, TEN[:12])
    manager.get_context("s")
    settle(manager)
    assert strategy.calls == [("waited", 12, 100), ("ahead", 8, 70)]


class SleepingSummarizer:
    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        time.sleep(0.15)
        return f"{len(messages)} messages."


def test_hardly_anybody_waits_for_a_slow_summarizer() -> None:
    """Blocking time of a replay whose user takes 0.3 s a turn, with background summaries and without."""
    contents = [f"Message {number} of a chat about gardens, lamps and the weather." for number in range(22)]
    conversation = Conversation("slow", "en", "test", chat(*contents))
    waited = {}
    for background_at in (None, 0.7):
        strategy = SmartSummary(Chars4(), SleepingSummarizer(), 2, 2)
        manager = ContextManager(strategy, 90, background_at=background_at)
        steps = list(replay(conversation, manager, turn_s=0.3 if background_at else 0.0))
        assert sum(step.context.outcome == "compressed" for step in steps) >= 8
        waited[background_at] = sum(step.latency_ms for step in steps)
    assert waited[None] >= 8 * 150
    assert waited[0.7] < waited[None] / 3


HANGS = """
import time
from ctxbench import ContextManager
from tests.context.test_background import TEN, Last, add

manager = ContextManager(Last(before=lambda: time.sleep(600)), 100, background_at=0.7)
add(manager, TEN[:8])
manager.get_context("s")
print("done")
"""


def test_the_process_ends_while_a_compression_is_under_way() -> None:
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", HANGS], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "done\n", "")


@pytest.mark.parametrize("share", [0, 1, 1.5, -0.1])
def test_a_share_outside_of_0_and_1_is_refused(share: float) -> None:
    with pytest.raises(CtxbenchError, match=rf"^background_at is {share}; give a share of the budget between 0 and 1"):
        ContextManager(Last(), 100, background_at=share)


def test_without_it_nothing_is_compressed_ahead() -> None:
    strategy = Last()
    manager = ContextManager(strategy, 100)
    for message in TEN[:30]:
        manager.add_message("s", message)
        manager.get_context("s")
    assert {where for where, _, _ in strategy.calls} == {"waited"}


def test_a_run_with_background_summaries_reuses_them_and_counts_their_calls(
    run: Run, serve: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sleep, slept = time.sleep, Counter[float]()

    def counted(seconds: float) -> None:
        slept[seconds] += 1
        sleep(seconds)

    monkeypatch.setattr(time, "sleep", counted)
    server = serve((200, GOOD))
    settings = (*model_at(server.url), "strategy.recent_messages=2", "budget=60", talk_file("x.jsonl", "one"))
    code, out, _ = run(*settings, "background_at=0.5", "turn_s=0.07")
    assert code == 0
    assert slept[0.07] == 10  # user turns
    rows = contexts_of(out)
    compressed = sum(row["outcome"] == "compressed" for row in rows)
    assert 1 <= sum(row["model_calls"] for row in rows) <= len(server.requests) < compressed
    code, _, err = run(*settings, "background_at=7")
    assert (code, err.count("\n")) == (2, 1)
    assert "background_at is 7; give a share of the budget" in err
    assert "turn_s is -1; give 0 or more" in run(*settings, "turn_s=-1")[2]
