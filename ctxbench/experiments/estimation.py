"""The estimation experiment: every estimator against every tokenizer, text by text.

A text is one message; both sides count the same strings (role, content, calls), so
that the difference is the estimator's alone and not a provider's framing.
"""

from collections.abc import Iterator, Mapping

from ctxbench.conversation.model import Conversation, Message, message_texts
from ctxbench.errors import CtxbenchError
from ctxbench.runs.schema import EstimationRow
from ctxbench.tokens.estimators.base import Estimator
from ctxbench.tokens.tokenizers import Tokenizer


def estimate_conversation(
    conversation: Conversation, estimators: Mapping[str, Estimator], tokenizers: Mapping[str, Tokenizer]
) -> Iterator[EstimationRow]:
    """Yield a row for each message of the conversation."""
    texts = [message_texts(message) for message in conversation.messages]
    flat = [text for strings in texts for text in strings]
    counted = {name: iter(tokenizer.count_batch(flat)) for name, tokenizer in tokenizers.items()}
    for index, (message, strings) in enumerate(zip(conversation.messages, texts, strict=True)):
        place = f"{conversation.id}#{index}"
        yield EstimationRow(
            text=place,
            conversation=conversation.id,
            language=conversation.language,
            kind=_kind(message),
            characters=sum(map(len, strings)),
            tokens={name: sum(next(counts) for _ in strings) for name, counts in counted.items()},
            estimates={name: _estimate(name, estimator, message, place) for name, estimator in estimators.items()},
        )


def _estimate(name: str, estimator: Estimator, message: Message, place: str) -> int:
    estimate = estimator.estimate([message])
    if not isinstance(estimate, int) or estimate < 0:
        raise CtxbenchError(f"estimator {name} gave {estimate!r} for text {place}; tokens are whole numbers from 0")
    return estimate


def _kind(message: Message) -> str:
    if message.role == "tool":
        return "tool_result"
    return "tool_call" if message.tool_calls else "chat"
