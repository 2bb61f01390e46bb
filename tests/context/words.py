"""Counts that can be worked out by hand: a token a word, the role included."""

from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.tokens.estimators.base import AdditiveEstimator


class Words(AdditiveEstimator):
    """A message has one token for its role and one for each word; a call one for its name, and its arguments' words."""

    def size_of_text(self, text: str) -> int:
        return len(text.split())

    def tokens(self, size: int) -> int:
        return size


def call(name: str, *ids: str) -> Message:
    """An assistant message without text: 1 token, and 2 a call."""
    calls = tuple(ToolCall(one, FunctionCall(name, "{}")) for one in ids)
    return Message("assistant", None, tool_calls=calls)


def result(name: str, text: str) -> Message:
    return Message("tool", text, tool_call_id=name)


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


def system(text: str) -> Message:
    return Message("system", text)
