"""langchain_approx: langchain-core's `count_tokens_approximately` (1.8.3).

Per message ceil(characters / 4) + 3; characters are those of content, role, name, the
Python form of the tool calls, and the tool call's id.
"""

from contextlib import suppress
from typing import Any

import msgspec

from ctxbench.conversation.model import Message, ToolCall
from ctxbench.tokens.estimators.base import AdditiveEstimator

EXTRA_A_MESSAGE = 3


class LangchainApprox(AdditiveEstimator):
    """Sum over messages of ceil(characters / 4) + 3."""

    def size(self, message: Message) -> int:
        """Tokens of one message."""
        content = message.content
        characters = len(content) if isinstance(content, str) else len(repr(content)) if content else 0
        if message.tool_calls and not isinstance(content, list):
            characters += len(repr([_as_langchain(call) for call in message.tool_calls]))
        characters += len(message.tool_call_id or "") + len(message.role) + len(message.name or "")
        return -(-characters // 4) + EXTRA_A_MESSAGE

    def size_of_text(self, text: str) -> int:
        """Tokens of a text alone: ceil(characters / 4)."""
        return -(-len(text) // 4)

    def tokens(self, size: int) -> int:
        """The sum is in tokens already."""
        return size


def _as_langchain(call: ToolCall) -> dict[str, Any]:
    """A tool call as LangChain's message holds it, its arguments parsed."""
    arguments: Any = call.function.arguments
    with suppress(msgspec.DecodeError):  # LangChain keeps a call that is no JSON apart, as text
        arguments = msgspec.json.decode(arguments)
    return {"name": call.function.name, "args": arguments, "id": call.id, "type": "tool_call"}
