"""Writes no summary twice: the same old messages get the text that was written for them before.

Texts are kept in any storage, each as a session of one message, and so are shared by all
who share the storage: threads, processes, machines. When two ask for the same summary at
once both write it, and the last one is kept.
"""

import hashlib
from collections.abc import Sequence

import msgspec

from ctxbench.context.storage.base import ContextStorage, pack
from ctxbench.context.summarizers.base import Summarizer, transcript
from ctxbench.conversation.model import Message, content_text
from ctxbench.tokens.estimators.base import Estimator

_WRITTEN_FOR = "max_tokens"


class CachedSummarizer:
    """`summarizer`, behind what it wrote already.

    Args:
        summarizer: who is asked for what is not stored.
        storage: where texts are kept, in sessions `summary-cache/<hash>`.
        name: tells summarizers apart: with another prompt or model it must be another name.
        estimator: counts whether a stored text is short enough.
    """

    def __init__(self, summarizer: Summarizer, storage: ContextStorage, name: str, estimator: Estimator) -> None:
        self.summarizer, self.storage, self.name, self.estimator = summarizer, storage, name, estimator

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """The stored text, if it was written for no more tokens or is no longer than that; else a new one."""
        key = self._key(messages)
        for stored in self.storage.load(key)[:1]:
            if stored.extra.get(_WRITTEN_FOR, 0) <= max_tokens or self._tokens(content_text(stored)) <= max_tokens:
                return content_text(stored)
        text = self.summarizer.summarize(messages, max_tokens)
        if text and text.strip() and self._tokens(text) <= self._tokens(transcript(messages)):
            self.storage.save(key, [Message("assistant", text, extra={_WRITTEN_FOR: max_tokens})])
        return text

    def _key(self, messages: Sequence[Message]) -> str:
        parts = [msgspec.json.encode(self.name), *map(pack, messages)]
        return "summary-cache/" + hashlib.sha256(b"\n".join(parts)).hexdigest()

    def _tokens(self, text: str) -> int:
        return self.estimator.estimate([Message("user", text)])
