"""What strategies that write summaries share: a summary that can be used, and the message that holds it."""

from collections.abc import Sequence

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.summarizers.base import Summarizer, transcript
from ctxbench.conversation.model import Message
from ctxbench.models.base import ModelError
from ctxbench.tokens.estimators.base import Estimator

HEADING = "Previous conversation summary:\n"
"""Marks a message as a summary; also how an earlier one is found again."""


def write_summary(summarizer: Summarizer, old: Sequence[Message], max_tokens: int, estimator: Estimator) -> str:
    """A summary of at most about `max_tokens`; raises `CompressionFailed` when it cannot be used.

    It cannot when the model failed, when there is no text, or when it is longer than what it replaces.
    """
    try:
        text = summarizer.summarize(old, max_tokens)
    except ModelError as error:
        raise CompressionFailed("error", str(error)) from error
    if not text or not text.strip():
        raise CompressionFailed("empty", f"the summarizer wrote nothing for {len(old)} messages")
    written = estimator.estimate([Message("user", text)])
    if written <= estimator.estimate(old):  # known message by message: most transcripts need not be counted
        return text
    replaced = estimator.estimate([Message("user", transcript(old))])
    if written > replaced:
        raise CompressionFailed("over_long", f"a summary of {written} tokens for {replaced} tokens of messages")
    return text


def summary_in(message: Message, heading: str) -> str | None:
    """The text of a summary that was written under this heading; None for any other message."""
    content = message.content
    return content[len(heading) :] if isinstance(content, str) and heading and content.startswith(heading) else None
