"""The estimation experiment: every estimator against every tokenizer.

Text by text (a message; both sides count the same strings), and context by context: the
growing history as it would be sent at each assistant turn, against the texts' tokens and
against the whole prompt with the provider's framing. An estimator that learns from
usage is told, after each context, what the prompt really had.
"""

from collections.abc import Iterator, Mapping

from ctxbench.conversation.model import Conversation, Message, content_text, message_texts
from ctxbench.errors import CtxbenchError
from ctxbench.runs.schema import ContextEstimateRow, EstimationRow
from ctxbench.text.kinds import kind_of
from ctxbench.tokens.estimators.base import AdditiveEstimator
from ctxbench.tokens.estimators.observed import Observed
from ctxbench.tokens.framing import framing_of, schema_tokens
from ctxbench.tokens.tokenizers import Tokenizer

Estimators = Mapping[str, AdditiveEstimator]
Tokenizers = Mapping[str, Tokenizer]


def estimate_texts(
    conversation: Conversation, estimators: Estimators, tokenizers: Tokenizers
) -> Iterator[EstimationRow]:
    """Yield a row for each message of the conversation."""
    strings = [message_texts(message) for message in conversation.messages]
    counted = {name: _counts(tokenizer, strings) for name, tokenizer in tokenizers.items()}
    for index, message in enumerate(conversation.messages):
        place = f"{conversation.id}#{index}"
        yield EstimationRow(
            text=place,
            conversation=conversation.id,
            language=conversation.language,
            parallel=_parallel(conversation),
            kind=_kind(message, conversation.source),
            characters=sum(map(len, strings[index])),
            tokens={name: counts[index] for name, counts in counted.items()},
            estimates={
                name: _checked(name, estimator.estimate([message]), place) for name, estimator in estimators.items()
            },
        )


def estimate_contexts(
    conversation: Conversation, estimators: Estimators, tokenizers: Tokenizers, *, observed: str
) -> Iterator[ContextEstimateRow]:
    """Yield a row for each assistant turn; `observed` names the tokenizer whose prompts are billed."""
    messages = conversation.messages
    strings = [message_texts(message) for message in messages]
    texts = {name: _counts(tokenizer, strings) for name, tokenizer in tokenizers.items()}
    roles = {name: tokenizer.count_batch([one[0] for one in strings]) for name, tokenizer in tokenizers.items()}
    schemas = {name: schema_tokens(conversation, tokenizer) for name, tokenizer in tokenizers.items()}
    own = {name: one.fresh() if isinstance(one, Observed) else one for name, one in estimators.items()}
    sizes = dict.fromkeys(own, 0)
    tokens, bare = dict.fromkeys(texts, 0), dict.fromkeys(texts, 0)
    for seen, message in enumerate(messages):
        if message.role == "assistant" and seen:
            frames = {name: framing_of(name).tokens(messages[:seen]) + schemas[name] for name in texts}
            place = f"{conversation.id}#0-{seen - 1}"
            row = ContextEstimateRow(
                conversation=conversation.id,
                language=conversation.language,
                seen=seen,
                tokens=dict(tokens),
                prompt={name: bare[name] + frames[name] for name in texts},
                estimates={name: _checked(name, own[name].tokens(size), place) for name, size in sizes.items()},
            )
            yield row
            _observe(own, sizes, row.prompt[observed])
        for name, estimator in own.items():
            sizes[name] += estimator.size(message)
        for name, counts in texts.items():
            tokens[name] += counts[seen]
            bare[name] += counts[seen] - roles[name][seen]


def _observe(estimators: Estimators, sizes: Mapping[str, int], tokens: int) -> None:
    for name, estimator in estimators.items():
        if isinstance(estimator, Observed):
            estimator.observe_size(sizes[name], tokens)


def _counts(tokenizer: Tokenizer, strings: list[list[str]]) -> list[int]:
    """Tokens of each message, from one batch."""
    counts = iter(tokenizer.count_batch([text for texts in strings for text in texts]))
    return [sum(next(counts) for _ in texts) for texts in strings]


def _checked(name: str, estimate: int, place: str) -> int:
    if not isinstance(estimate, int) or estimate < 0:
        raise CtxbenchError(f"estimator {name} gave {estimate!r} for text {place}; tokens are whole numbers from 0")
    return estimate


def _parallel(conversation: Conversation) -> str | None:
    """Parallel stories share their scenario, parallel files their line numbers."""
    if conversation.source == "lines":
        return conversation.id.rpartition(":")[2]
    return conversation.scenario if "parallel" in conversation.tags else None


def _kind(message: Message, source: str) -> str:
    if source == "lines":
        return "prose"
    calls = [call.function.arguments for call in message.tool_calls]
    return kind_of("\n".join(filter(None, [content_text(message), *calls])))
