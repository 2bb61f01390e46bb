"""Speed of every strategy of the configuration that asks no model.

    python -m tests.benchmarks.bench_strategies [NAME ...]

A synthetic conversation, a quarter of its tokens as the budget. First sight: nothing of
its text was seen before. Again: the turn after, when all but the newest messages were.
Exits with 1 when a strategy needs more than 50 ms at 1,000 messages (500 ms where
sentences or words are scored), or at 10,000 messages more than 1.3 times the time a message.
What other people's libraries need is printed, not judged.
"""

import statistics
import sys
import time

from ctxbench.app import composed
from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.conversation.model import Conversation, FunctionCall, Message, ToolCall
from ctxbench.parts import manager_factory
from ctxbench.resources import group_options
from ctxbench.tokens.tokenizers import count_messages
from ctxbench.tokens.vocab import tiktoken_encoding

TOKENIZER = tiktoken_encoding("o200k_base")
SCORES_SENTENCES = {
    "density",
    "prune_words",
    "smart",
    "running_summary",
    "hierarchical",
    "anchored",
    "hybrid",
    "dynamic",
}
WORDS = [
    "harbour",
    "lamp",
    "crane",
    "ticket",
    "window",
    "paper",
    "river",
    "stone",
    "market",
    "bridge",
    "letter",
    "garden",
    "engine",
    "copper",
    "silver",
]


def chat(length: int, seed: int) -> list[Message]:
    """Turns of three sentences, 330 characters; each tenth has a tool call."""
    messages = []
    for index in range(length):
        first = (index * 7 + seed) % len(WORDS)
        told = " ".join(WORDS[(first + step) % len(WORDS)] for step in range(12))
        text = f"Point {index}-{seed}: {told}. We should {told} before {index % 28 + 1} May. It is {told}, I think."
        messages.append(Message(("user", "assistant")[index % 2], text))
        if index % 20 == 9:
            call = ToolCall(f"call_{index}", FunctionCall("find", '{"point": 1}'))
            messages[-1] = Message("assistant", None, tool_calls=(call,))
            messages.append(Message("tool", text, tool_call_id=call.id))
    return messages


def seconds(strategy: CompressionStrategy, messages: list[Message]) -> float:
    budget = count_messages(TOKENIZER, messages) // 4
    started = time.process_time()  # what other programs do is not counted
    try:
        strategy.compress(messages, budget)
    except CompressionFailed as failure:
        print(f"  failed: {failure}")
    return time.process_time() - started


def measure(strategy: CompressionStrategy, length: int, repeats: int) -> tuple[float, float]:
    """Median seconds at first sight, and again with two messages more."""
    first, again = [], []
    for seed in range(repeats):
        messages = chat(length, seed + length)
        first.append(seconds(strategy, messages))
        again.append(seconds(strategy, [*messages, *chat(2, seed + 77)]))
    return statistics.median(first), statistics.median(again)


def main(names: list[str]) -> int:
    """Measure, print, compare."""
    slow = 0
    print(f"{'strategy':24} {'1,000: first, again (ms)':>26} {'10,000 over 1,000, a message':>30}")
    for name in names or [name for name in group_options("strategy") if name not in ("path", "callable")]:
        config, _ = composed([f"strategy={name}"])
        strategy = manager_factory(config)(Conversation("one", "en", "bench", []), 100).strategy
        seconds(strategy, chat(50, 0))  # imports
        first, again = measure(strategy, 1_000, 5)
        long, _ = measure(strategy, 10_000, 3)
        ratio = long / 10 / first
        limit = 0.5 if name in SCORES_SENTENCES else 0.05
        ours = ".adapters." not in config.strategy._target_
        bad = ours and (first > limit or ratio > 1.3)
        slow += bad
        print(f"{name:24} {1000 * first:12.1f}, {1000 * again:12.1f} {ratio:30.2f}{'  SLOW' if bad else ''}")
    return int(slow > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
