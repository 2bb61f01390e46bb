"""What strategies share that keep one summary of all that is old, within the budget.

The newest turns get their share of the room, the summary what is left. An earlier
summary in the messages is taken in and never stands beside the new one.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TypedDict

from ctxbench.context.draft import Draft
from ctxbench.context.failures import CompressionFailed
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.strategies.token_window import add_turns
from ctxbench.context.summaries import HEADING, summary_in, write_summary
from ctxbench.context.summarizers.base import SUMMARY, Summarizer, transcript
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import Estimator

LEAST_TOKENS = 48
"""With less room than this no summary is written: nothing would stand in it."""
SHRUNK = 4
"""A block of messages has at least about so many times the tokens of its summary."""


class SummarySettings(TypedDict, total=False):
    """The settings that all of them have."""

    summary_share: float
    summary_role: str
    summary_heading: str


class SummaryStrategy(EstimatorStrategy, ABC):
    """Write `write`. `summary_share` (0 to 1) is the summary's part of the room."""

    def __init__(
        self,
        estimator: Estimator,
        summarizer: Summarizer,
        *,
        summary_share: float = 0.75,
        summary_role: str = "system",
        summary_heading: str = HEADING,
    ) -> None:
        super().__init__(estimator)
        if not 0 <= summary_share <= 1:
            raise CtxbenchError(f"strategy.summary_share is {summary_share}; give a share from 0 to 1")
        if not summary_heading:
            raise CtxbenchError("strategy.summary_heading is empty; the summary is found again by it")
        self.summarizer = summarizer
        self.summary_share = summary_share
        self.summary_role = summary_role
        self.summary_heading = summary_heading

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """System messages, the summary, the newest turns; raises `CompressionFailed`."""
        if self.estimate_tokens(messages) <= max_tokens:
            return list(messages)
        summaries = [summary_in(message, self.summary_heading) for message in messages]
        rest = [message for message, summary in zip(messages, summaries, strict=True) if summary is None]
        draft = Draft(rest, max_tokens, self.estimator)
        add_turns(draft, draft.units, share=1 - self.summary_share)
        earlier = [Message(SUMMARY, summary) for summary in summaries if summary]
        old = earlier + [rest[index] for unit in draft.units if not draft.has(unit) for index in unit]
        room = max_tokens - draft.tokens - self.estimate_tokens([self._summary("")])
        if not old or room < LEAST_TOKENS:
            add_turns(draft, draft.units)
            return draft.context()
        text = self.write(old, room)
        if not draft.lead(self._summary(text)):
            written = self.estimate_tokens([Message("", text)])
            raise CompressionFailed("over_long", f"a summary of {written} tokens where {room} are left")
        return draft.context()

    @abstractmethod
    def write(self, old: Sequence[Message], max_tokens: int) -> str:
        """The summary's text. An earlier summary is the first of `old`, in the role `SUMMARY`."""

    def summarise(self, old: Sequence[Message], max_tokens: int) -> str:
        """A summary of messages; the messages themselves, as text, where they are that short."""
        text = transcript(old)
        if self.estimate_tokens([Message("", text)]) <= max_tokens:
            return text.strip()
        return write_summary(self.summarizer, old, max_tokens, self.estimator)

    def _summary(self, text: str) -> Message:
        return Message(self.summary_role, self.summary_heading + text)


def blocks(messages: Sequence[Message], tokens: int, estimator: Estimator) -> list[list[Message]]:
    """The messages in blocks of at least so many tokens, rounded to a power of two; the last may be smaller.

    They begin at the oldest message and have about the same size from turn to turn, so that a
    growing conversation makes the same blocks again: a cached summarizer writes the last one only.
    """
    least = 1 << max(0, tokens.bit_length() - 1)
    found: list[list[Message]] = [[]]
    size = 0
    for message in messages:
        if size >= least:
            found.append([])
            size = 0
        found[-1].append(message)
        size += estimator.estimate([message])
    return found
