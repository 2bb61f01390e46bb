"""Helpers for formats whose messages are chat-completions messages already, or nearly."""

from collections.abc import Iterable
from typing import Any

import msgspec

from ctxbench.conversation.importers.base import WrongFormat
from ctxbench.conversation.model import Message, message_from_dict


def messages_from(raws: Iterable[Any], place: str) -> list[Message]:
    """Messages from chat-completions objects; the error names the message's index and field."""
    messages = []
    for index, raw in enumerate(raws):
        try:
            messages.append(message_from_dict(raw))
        except (msgspec.ValidationError, AttributeError) as error:
            raise WrongFormat(place, f"message {index}: {error}", raw) from None
    return messages
