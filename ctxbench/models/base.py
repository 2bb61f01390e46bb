"""What a chat model is, and what it answers."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError

Purpose = Literal["summary", "reader", "judge"]


class ModelError(CtxbenchError):
    """One request failed, after the model's own retries; the next one may succeed."""


class ModelUnavailable(CtxbenchError):
    """No request can succeed until the user mends something: key, endpoint, package, file."""


class Reply(msgspec.Struct, frozen=True):
    """One answer. `finish_reason` is `stop`, or `length` when it ran into `max_tokens`."""

    text: str | None
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int


class ChatModel(Protocol):
    """A model that completes chats; safe to share between threads."""

    @property
    def name(self) -> str:
        """The name under which its results are reported."""
        ...

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        """The model's answer; None when it gave none.

        Raises:
            ModelError: this request failed. ModelUnavailable: every request would.
        """
        ...
