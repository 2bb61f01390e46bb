"""Runs a summarizer that somebody else wrote, and says by its name what it did wrong."""

from collections.abc import Sequence

import msgspec

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.guarded import unpacked
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.loading import told


class GuardedSummarizer:
    """The summarizer `summarizer`, called `name` in failures; it gets copies of the messages."""

    def __init__(self, summarizer: Summarizer, name: str) -> None:
        self._summarizer, self.name = summarizer, name

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """What the summarizer wrote; any fault but the two that it may raise is `CompressionFailed`."""
        copies = unpacked(map(msgspec.json.encode, messages))
        try:
            text: object = self._summarizer.summarize(copies, max_tokens)
        except (CompressionFailed, CtxbenchError):
            raise
        except (Exception, SystemExit) as error:
            raise CompressionFailed("misbehaved", f"{self.name} raised {told(error)}", final=True) from error
        if text is not None and not isinstance(text, str):
            what = f"{self.name} returned a {type(text).__name__}, not a text"
            raise CompressionFailed("misbehaved", what, final=True)
        return text
