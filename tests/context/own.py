"""Strategies as a user would write them, for tests."""

from collections.abc import Sequence
from typing import Any

from ctxbench.conversation.model import Message


class NewestHalf:
    """Keeps the system messages and the newer half of the others, from a user message on."""

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        system = [message for message in messages if message.is_system]
        others = [message for message in messages if not message.is_system]
        starts = [place for place, message in enumerate(others) if message.role == "user"]
        later = [place for place in starts if place >= len(others) // 2] or starts[-1:]
        return system + (others[later[0] :] if later else others)


def tail(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The system messages and the last turn."""
    last = max(place for place, message in enumerate(messages) if message["role"] == "user")
    return [m for m in messages[:last] if m["role"] == "system"] + messages[last:]
