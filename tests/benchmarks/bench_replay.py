"""Speed of the context manager, as ratios within one process.

    python -m tests.benchmarks.bench_replay

Not part of the test suite: clocks are no assertions. Prints each figure with what it
should be at most, and exits with 1 when one is above.
"""

import statistics
import sys
import time
from collections.abc import Callable

from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.chars4 import Chars4

REPEATS = 5


def message(index: int) -> Message:
    return Message(("user", "assistant")[index % 2], f"Message {index}: " + "some words of a chat " * 15)


def write_back_cost(length: int) -> float:
    """Seconds a message to add it and ask for the context, with write-back, up to `length` messages."""
    manager = ContextManager(SlidingWindow(Chars4(), 20), 4000, write_back=True)
    messages = [message(index) for index in range(length)]
    started = time.perf_counter()
    for one in messages:
        manager.add_message("s", one)
        manager.get_context("s")
    return (time.perf_counter() - started) / length


def full_history_cost(length: int) -> float:
    """Seconds a stored message for one `get_context` when the store keeps the full history."""
    manager = ContextManager(SlidingWindow(Chars4(), 20), 4000)
    for index in range(length):
        manager.add_message("s", message(index))
    manager.get_context("s")
    started = time.perf_counter()
    for index in range(20):
        manager.add_message("s", message(index))
        manager.get_context("s")
    return (time.perf_counter() - started) / 20 / length


def median(measure: Callable[[int], float], length: int) -> float:
    return statistics.median(measure(length) for _ in range(REPEATS))


def main() -> int:
    """Measure, print, compare."""
    short, long = median(write_back_cost, 1_000), median(write_back_cost, 10_000)
    stored = median(full_history_cost, 10_000)
    figures = [
        ("write-back, cost a message at 10,000 over 1,000 messages", long / short, 1.3, "times"),
        ("full history, one get_context a stored message", stored * 1e6, 0.1, "us"),
    ]
    for name, value, limit, unit in figures:
        print(f"{name}: {value:.3f} {unit} (at most {limit})")
    print(f"write-back, cost a message: {short * 1e6:.1f} us at 1,000, {long * 1e6:.1f} us at 10,000")
    return int(any(value > limit for _, value, limit, _ in figures))


if __name__ == "__main__":
    sys.exit(main())
