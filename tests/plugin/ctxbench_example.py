"""One of each part that a package can add to ctxbench; `pyproject.toml` names them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ctxbench import AdditiveEstimator, Conversation, Estimator, Message, Summarizer


class Newest:
    """Keeps the system messages, a summary of the old ones and the newest.

    `keep`: how many of the newest.
    """

    def __init__(self, estimator: Estimator, summarizer: Summarizer, keep: int = 4) -> None:
        self.estimator = estimator
        self.summarizer = summarizer
        self.keep = keep

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        system = [message for message in messages if message.is_system]
        others = [message for message in messages if not message.is_system]
        old, recent = others[: -self.keep], others[-self.keep :]
        text = self.summarizer.summarize(old, max_tokens)
        return [*system, *([Message("user", text)] if text else []), *recent]


class FirstWords:
    """Keeps the first words of each message."""

    def __init__(self, words: int = 3) -> None:
        self.words = words

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
        texts = [message.content for message in messages if isinstance(message.content, str)]
        return " / ".join(" ".join(text.split()[: self.words]) for text in texts)


class Words(AdditiveEstimator):
    """4 tokens for 3 words."""

    def size_of_text(self, text: str) -> int:
        return len(text.split())

    def tokens(self, size: int) -> int:
        return size * 4 // 3


class Characters:
    """A token for each character."""

    name = "characters"

    def count(self, text: str) -> int:
        return len(text)

    def count_batch(self, texts: Sequence[str]) -> list[int]:
        return [len(text) for text in texts]


class Diary:
    """An importer may be a class with static methods, an object or a module."""

    ABOUT = "diaries: a line a message, the two speakers in turns"

    @staticmethod
    def looks_like(record: Any) -> bool:
        return isinstance(record, str)

    @staticmethod
    def read(path: Path, tally: Any, language: str | None) -> Iterator[Conversation]:
        lines = path.read_text("utf-8").splitlines()
        tally.read["conversations"] += 1
        tally.read["messages"] += len(lines)
        messages = [Message(("user", "assistant")[index % 2], line) for index, line in enumerate(lines)]
        yield Conversation(path.stem, language or "und", "diary", messages)
