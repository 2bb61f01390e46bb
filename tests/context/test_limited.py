import re
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor

import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.storage.memory import MemoryStorage
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.summarizers import limited
from ctxbench.context.summarizers.cached import CachedSummarizer
from ctxbench.context.summarizers.limited import LimitedSummarizer
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import ROOT, chat
from tests.context.test_manager import LONG, Writes, filled

OLD = LONG[1:6]


@pytest.fixture(autouse=True)
def no_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test counts from nothing."""
    limited._limiter.cache_clear()


def allowed(*summarizers: LimitedSummarizer, times: int) -> list[bool]:
    def ask(number: int) -> bool:
        try:
            return summarizers[number % len(summarizers)].summarize(OLD, 50) == "They count."
        except CompressionFailed:
            return False

    with ThreadPoolExecutor(8) as pool:
        return list(pool.map(ask, range(times)))


def test_the_limit_holds_for_all_summarizers_and_threads_together() -> None:
    writer = Writes("They count.")
    summarizers = [LimitedSummarizer(writer, limit) for limit in ("30/hour", "30/hour", "30 per hour")]
    assert sum(allowed(*summarizers, times=100)) == 30
    assert len(writer.limits) == 30
    assert sum(allowed(LimitedSummarizer(writer, "5/hour"), times=20)) == 5  # another limit counts by itself


def test_after_its_time_it_is_allowed_again() -> None:
    summarizer = LimitedSummarizer(Writes("They count."), "1/second")
    assert summarizer.summarize(OLD, 50) == "They count."
    with pytest.raises(CompressionFailed, match=r"^rate_limited: the limit is 1/second summaries; try again in 1 s$"):
        summarizer.summarize(OLD, 50)
    time.sleep(1.05)
    assert summarizer.summarize(OLD, 50) == "They count."


def test_how_long_to_wait_is_told() -> None:
    summarizer = LimitedSummarizer(Writes("They count."), "1/hour")
    summarizer.summarize(OLD, 50)
    with pytest.raises(CompressionFailed) as failure:
        summarizer.summarize(OLD, 50)
    assert (failure.value.kind, failure.value.final) == ("rate_limited", True)
    seconds = int(re.search(r"in (\d+) s", str(failure.value))[1])  # type: ignore[index]
    assert 3500 < seconds <= 3600


def limit_manager(policy: str) -> ContextManager:
    strategy = SmartSummary(Chars4(), LimitedSummarizer(Writes("They count."), "1/hour"), 2, 2)
    fallback = SlidingWindow(Chars4(), 3)
    return ContextManager(strategy, 60, on_failure=policy, fallback=fallback, retries=5, backoff_s=60)  # type: ignore[arg-type]


@pytest.mark.parametrize(("policy", "outcome", "messages"), [("keep", "kept", 11), ("fallback", "fallback", 4)])
def test_the_managers_policy_decides_and_nothing_waits(policy: str, outcome: str, messages: int) -> None:
    manager = filled(filled(limit_manager(policy), LONG, "a"), LONG, "b")
    assert manager.build_context("a").outcome == "compressed"
    started = time.perf_counter()
    context = manager.build_context("b")
    assert time.perf_counter() - started < 30  # no try after a pause
    assert (context.outcome, len(context.messages)) == (outcome, messages)
    assert str(context.failure).startswith("rate_limited")


def test_with_raise_it_is_raised() -> None:
    manager = filled(limit_manager("raise"), LONG)
    manager.get_context("s")
    with pytest.raises(CompressionFailed, match="rate_limited"):
        manager.get_context("s")


def test_what_the_cache_holds_costs_nothing() -> None:
    limit = LimitedSummarizer(Writes("They count."), "2/hour")
    summarizer = CachedSummarizer(limit, MemoryStorage(), "x", Chars4())
    assert [summarizer.summarize(OLD, 50) for _ in range(5)] == ["They count."] * 5
    assert summarizer.summarize(LONG, 50) == "They count."
    with pytest.raises(CompressionFailed):
        summarizer.summarize(LONG[1:], 50)


@pytest.mark.parametrize("limit", ["", "often", "30", "30/fortnight", "0/minute", "-1/minute", "1/second;5/minute", 5])
def test_a_wrong_limit_is_one_line(limit: str) -> None:
    with pytest.raises(CtxbenchError, match=r"^rate_limit is '.*'; give summaries per time, such as 30/minute .*$"):
        LimitedSummarizer(Writes("x"), limit)


@pytest.mark.parametrize("place", ["nowhere://x", "redis://user:secret@127.0.0.1:1/0"])
def test_a_place_that_cannot_count_is_one_line_without_the_password(place: str) -> None:
    with pytest.raises(
        CtxbenchError, match=r"^rate_limit_in \w+://[\w.:/]*: .*; give memory:// or redis://HOST"
    ) as error:
        LimitedSummarizer(Writes("x"), "1/hour", place).summarize(OLD, 50)
    assert "secret" not in str(error.value)
    assert "\n" not in str(error.value)


ELSEWHERE = """
import sys
from ctxbench import CompressionFailed, LimitedSummarizer
from tests.context.test_limited import OLD, Writes

summarizer, written = LimitedSummarizer(Writes("They count."), sys.argv[1], sys.argv[2]), 0
for _ in range(5):
    try:
        written += summarizer.summarize(OLD, 50) is not None
    except CompressionFailed:
        pass
print(written)
"""


def test_processes_share_a_limit_in_redis(redis_url: str) -> None:
    amount = 7
    limit = f"{amount}/{uuid.uuid4().int % 1000 + 10} hour"  # one that no earlier test counted
    written = []
    for _ in range(2):
        command = [sys.executable, "-W", "error", "-c", ELSEWHERE, limit, redis_url]
        written.append(int(subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout))
    assert written == [5, amount - 5]


def test_the_text_is_the_summarizers() -> None:
    class Echo:
        def summarize(self, messages: object, max_tokens: int) -> str | None:
            return f"{messages} {max_tokens}"

    assert LimitedSummarizer(Echo(), "9/day").summarize([], 7) == "[] 7"
    assert LimitedSummarizer(Writes(None), "9/day").summarize([Message("user", "a"), *chat("b")], 7) is None
