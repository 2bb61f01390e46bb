"""Contexts to hold a strategy against: all, nothing, the evidence alone, random messages."""

import random
from collections.abc import Sequence

from ctxbench.conversation.model import Message
from ctxbench.tokens.tokenizers import Tokenizer, count_messages


def empty(history: Sequence[Message]) -> list[Message]:
    """The system messages: what can be answered without any history."""
    return [message for message in history if message.is_system]


def oracle(history: Sequence[Message], evidence: Sequence[int], budget: int, tokenizer: Tokenizer) -> list[Message]:
    """System messages and the evidence, the oldest of it dropped where the budget does not hold all."""
    system = empty(history)
    chosen = [history[index] for index in sorted(set(evidence)) if not history[index].is_system]
    room = budget - count_messages(tokenizer, system)
    while len(chosen) > 1 and count_messages(tokenizer, chosen) > room:
        chosen = chosen[1:]
    return system + chosen


def random_messages(history: Sequence[Message], budget: int, tokenizer: Tokenizer, seed: str) -> list[Message]:
    """System messages and others drawn at random, in their order, as many as the budget holds."""
    system = empty(history)
    room = budget - count_messages(tokenizer, system)
    others = [index for index, message in enumerate(history) if not message.is_system]
    random.Random(seed).shuffle(others)  # noqa: S311 - repeatable, not secret
    chosen = []
    for index in others:
        tokens = count_messages(tokenizer, [history[index]])
        if tokens <= room:
            room -= tokens
            chosen.append(index)
    return system + [history[index] for index in sorted(chosen)]
