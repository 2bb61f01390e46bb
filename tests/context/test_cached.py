import json
import subprocess
import sys
import uuid
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import ContextManager
from ctxbench.context.storage.base import ContextStorage
from ctxbench.context.storage.memory import MemoryStorage
from ctxbench.context.storage.redis import RedisStorage
from ctxbench.context.storage.sqlite import SqliteStorage
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.summarizers.cached import CachedSummarizer
from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import ROOT, chat
from tests.context.test_manager import LONG, Writes, filled
from tests.models.test_openai import GOOD, serve
from tests.test_cli import Run, folder_of, run

__all__ = ["run", "serve"]  # fixtures

OLD = LONG[1:6]
"""Five messages, 65 tokens in all."""


def cached(summarizer: Writes, storage: ContextStorage, name: str = "one") -> CachedSummarizer:
    return CachedSummarizer(summarizer, storage, name, Chars4())


@pytest.fixture(params=["memory", "sqlite", "redis"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> ContextStorage:
    if request.param == "memory":
        return MemoryStorage()
    if request.param == "sqlite":
        return SqliteStorage(tmp_path / "s.sqlite")
    return RedisStorage(request.getfixturevalue("redis_url"), ttl_s=600, prefix=f"test-{uuid.uuid4()}:")


def test_the_same_messages_are_summarised_once(storage: ContextStorage) -> None:
    summarizer = Writes("First.", "Second.")
    assert cached(summarizer, storage).summarize(OLD, 50) == "First."
    assert cached(summarizer, storage).summarize(list(OLD), 50) == "First."
    assert len(summarizer.limits) == 1


@pytest.mark.parametrize(
    "other",
    [
        OLD[1:],
        [*OLD, Message("user", "more")],
        [*OLD[:-1], Message("assistant", OLD[-1].content)],
        [*OLD[:-1], Message("user", OLD[-1].content, tool_calls=(ToolCall("1", FunctionCall("f", "{}")),))],
        [Message("user", "\n".join(str(message.content) for message in OLD))],
    ],
)
def test_other_messages_are_another_summary(other: list[Message]) -> None:
    summary = cached(Writes("First.", "Second."), MemoryStorage())
    assert summary.summarize(OLD, 50) == "First."
    assert summary.summarize(other, 50) == "Second."
    assert summary.summarize(OLD, 50) == "First."


def test_another_summarizer_is_another_summary() -> None:
    storage, summarizer = MemoryStorage(), Writes("First.", "Second.")
    assert cached(summarizer, storage, "one").summarize(OLD, 50) == "First."
    assert cached(summarizer, storage, "two").summarize(OLD, 50) == "Second."


def test_a_text_serves_for_a_smaller_limit_only_if_it_is_short_enough() -> None:
    long, short = "x" * 80, "y" * 40  # 20 and 10 tokens, and one for the role
    summarizer = Writes(long, short, "never")
    summary = cached(summarizer, MemoryStorage())
    assert [summary.summarize(OLD, limit) for limit in (40, 30, 21)] == [long] * 3
    assert [summary.summarize(OLD, limit) for limit in (20, 11, 40)] == [short] * 3
    assert summarizer.limits == [40, 20]


def test_a_text_that_the_estimator_counts_as_too_long_still_serves_for_the_limit_it_was_written_for() -> None:
    """A model keeps the limit in its own tokens; counted otherwise, the text may be over it."""
    summarizer = Writes("x" * 80, "never")
    summary = cached(summarizer, MemoryStorage())
    assert summary.summarize(OLD, 15) == summary.summarize(OLD, 15) == summary.summarize(OLD, 16)
    assert summarizer.limits == [15]


@pytest.mark.parametrize(
    "failure",
    [None, "", " \n", "long " * 500, ModelError("down"), CompressionFailed("truncated", "no sentence ended")],
)
def test_failures_are_never_stored(failure: str | Exception | None) -> None:
    storage = MemoryStorage()
    strategy = SmartSummary(Chars4(), cached(Writes(failure, "They count."), storage), 2, 2)
    manager = filled(ContextManager(strategy, 60, retries=0), LONG)
    assert manager.build_context("s").outcome == "kept"
    assert storage._sessions == {}
    assert manager.build_context("s").outcome == "compressed"


def test_many_threads_at_once_get_the_summary() -> None:
    summary = cached(Writes("They count."), MemoryStorage())
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: summary.summarize(OLD, 50), range(64))) == {"They count."}


ELSEWHERE = """
import sys
from ctxbench import CachedSummarizer, Chars4
from ctxbench.context.storage.{module} import {storage}
from tests.context.test_cached import OLD

class Second:
    def summarize(self, messages, max_tokens):
        return "written by process " + sys.argv[2]

print(CachedSummarizer(Second(), {storage}(sys.argv[1]), "{name}", Chars4()).summarize(OLD, 50))
"""


def in_another_process(number: int, where: str, **fields: str) -> str:
    command = [sys.executable, "-W", "error", "-c", ELSEWHERE.format(**fields), where, str(number)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("kind", ["sqlite", "redis"])
def test_processes_share_summaries(request: pytest.FixtureRequest, tmp_path: Path, kind: str) -> None:
    where = str(tmp_path / "s.sqlite") if kind == "sqlite" else request.getfixturevalue("redis_url")
    fields = {"module": kind, "storage": f"{kind.title()}Storage", "name": str(uuid.uuid4())}
    texts = [in_another_process(number, where, **fields) for number in (1, 2)]
    assert texts == ["written by process 1"] * 2


def test_what_the_summarizer_is_asked_is_passed_on() -> None:
    seen: list[tuple[list[Message], int]] = []

    class Sees(Writes):
        def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
            seen.append((list(messages), max_tokens))
            return super().summarize(messages, max_tokens)

    cached(Sees("x"), MemoryStorage()).summarize(chat("a", "b", system=None), 7)
    assert seen == [(chat("a", "b", system=None), 7)]


def talk_file(name: str, *starts: str) -> str:
    """A dataset of conversations without probes: of such a run no plots are drawn."""
    conversations = [
        Conversation(start, "en", "test", chat(*(f"{start} {number}: some words." for number in range(20))))
        for start in starts
    ]
    write_conversations(Path(name), conversations)
    return f"dataset.path={name}"


def contexts_of(out: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder_of(out) / "contexts.jsonl").read_text().splitlines()]


def model_at(url: str) -> tuple[str, ...]:
    return ("strategy=smart", "summarizer=llm", "llm=openai", "llm.api_key_env=null", f"llm.base_url={url}")


@pytest.mark.parametrize("cache", [True, False])
def test_a_second_run_asks_the_model_nothing(run: Run, serve: Any, cache: bool) -> None:
    server = serve((200, GOOD))
    stored = ("storage=sqlite", "storage.path=shared.sqlite", f"summary_cache={cache}")
    settings = (*model_at(server.url), *stored, talk_file("x.jsonl", "one", "two"))
    calls, rows = [], []
    for _ in range(2):
        code, out, _ = run(*settings)
        assert code == 0
        rows = contexts_of(out)
        assert sum(row["outcome"] == "compressed" for row in rows) > 4
        calls.append((len(server.requests), sum(row["model_calls"] for row in rows)))
    first = calls[0][0]
    assert first > 4
    assert calls == [(first, first), (first if cache else 2 * first, 0 if cache else first)]
    if cache:
        run(*settings, "summarizer=llm_support")
        assert len(server.requests) > first  # another prompt, another summary


def test_a_run_with_a_rate_limit_tells_what_was_over_it(run: Run, serve: Any) -> None:
    server = serve((200, GOOD))
    settings = (*model_at(server.url), "on_failure=fallback", talk_file("x.jsonl", "one", "two"))
    code, out, err = run(*settings, "rate_limit=3/hour")
    assert code == 0
    assert "rate_limited: the limit is 3/hour summaries" in err
    assert len(server.requests) == 3
    outcomes = [row["outcome"] for row in contexts_of(out) if row["outcome"] in ("compressed", "fallback")]
    assert outcomes == ["compressed"] * 3 + ["fallback"] * (len(outcomes) - 3)
    assert len(outcomes) > 4
    code, _, err = run(*settings, "rate_limit=often")
    assert (code, err.count("\n")) == (2, 1)
    assert "rate_limit is 'often'; give summaries per time" in err
