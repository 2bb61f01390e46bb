"""What a storage is: an ordered list of messages for each session.

Appending is atomic: concurrent appends to one session lose nothing. Replacing is
conditional, so that a compression that took long cannot overwrite what was said
meanwhile.
"""

from collections.abc import Sequence
from typing import Protocol

import msgspec

from ctxbench.conversation.model import Message, message_from_dict, message_to_dict


class ContextStorage(Protocol):
    """Where a `ContextManager` keeps sessions; safe to share between threads."""

    def load(self, session_id: str) -> list[Message]:
        """The session's messages, oldest first; empty for an unknown session."""
        ...

    def save(self, session_id: str, messages: Sequence[Message]) -> None:
        """Make these the session's messages, whatever was there."""
        ...

    def append(self, session_id: str, *messages: Message) -> None:
        """Add messages at the end."""
        ...

    def replace(self, session_id: str, old: Sequence[Message], new: Sequence[Message]) -> bool:
        """Put `new` in the place of `old`, if the session still begins with `old`.

        What was appended after `old` stays. Returns whether it was done.
        """
        ...

    def delete(self, session_id: str) -> None:
        """Forget the session."""
        ...


def pack(message: Message) -> bytes:
    """A message as JSON bytes, for storages that keep bytes."""
    return msgspec.json.encode(message_to_dict(message))


def unpack(data: bytes) -> Message:
    """The message that `pack` wrote."""
    return message_from_dict(msgspec.json.decode(data))
