"""The re-implementation against the original Go module, case by case."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.summarizers.llm import LlmSummarizer
from ctxbench.conversation.model import Message, content_text, message_from_dict
from ctxbench.models.base import ModelError, Purpose, Reply
from ctxbench.tokens.estimators.bytes4 import Bytes4
from ctxbench.tokens.estimators.cjk_x3 import CjkX3
from tests.conftest import SHARED

VECTORS = SHARED / "vectors" / "reference_go.jsonl"
CASES: list[dict[str, Any]] = (
    [json.loads(line) for line in VECTORS.read_text("utf-8").splitlines()] if VECTORS.is_file() else []
)
LEAD_IN = "Summarise:\n"


class Scripted:
    """The vectors' model: answers as a case says, and notes what it was asked."""

    name = "scripted"

    def __init__(self, behaviour: str) -> None:
        self.behaviour = behaviour
        self.asked: list[tuple[str, float, int]] = []

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        self.asked.append((content_text(messages[-1]), temperature, max_tokens))
        if self.behaviour == "error":
            raise ModelError("the vectors' failure")
        if self.behaviour == "nil":
            return None
        return Reply("SUMMARY-TEXT" if self.behaviour == "ok" else "", "stop", 0, 0)


def test_all_cases_are_there(shared: object) -> None:
    assert len(CASES) == 116


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_case(case: dict[str, Any]) -> None:
    messages = [message_from_dict(raw) for raw in case["messages"]]
    expected, n = case["expect"], case["recent_message_count"]
    assert Bytes4().estimate(messages) == expected["estimate_bytes4"]
    assert CjkX3().estimate(messages) == expected["estimate_cjk"]

    sliding = SlidingWindow(Bytes4(), n, pair_tools=False)
    assert sliding.compress(messages, 0) == [message_from_dict(raw) for raw in expected["sliding"]]

    model = Scripted(case["model"])
    summarizer = LlmSummarizer(model, LEAD_IN, tool_calls=False)
    smart = SmartSummary(Bytes4(), summarizer, n, case["summarize_threshold"], pair_tools=False)
    # Room for every summary of 500 tokens, and an estimator of its own that finds any history too long.
    manager = ContextManager(_AlwaysTooLong(smart), 1_000_000, retries=0)
    for message in messages:
        manager.add_message("s", message)
    assert manager.get_context("s") == [message_from_dict(raw) for raw in expected["smart"]]
    assert len(model.asked) == expected["model_calls"]
    for prompt, temperature, max_tokens in model.asked:
        assert prompt == LEAD_IN + expected["transcript"] or case["model"] != "ok"
        assert (temperature, max_tokens) == (0.3, 500)
        if case["model"] == "ok":
            assert (expected["temperature"], expected["max_tokens"]) == (0.3, 500)


class _AlwaysTooLong:
    """Lets the manager compress whatever the history's length is."""

    def __init__(self, strategy: SmartSummary) -> None:
        self.compress = strategy.compress

    def estimate_tokens(self, messages: Sequence[Message]) -> int:
        return 1_000_001
