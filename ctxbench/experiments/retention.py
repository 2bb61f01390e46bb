"""The retention experiment: which answers can still be found after compression.

For each conversation and budget the conversation is replayed; every context gives a
`ContextRow`, every probe a `RetentionRow` with the same probe on the whole history
(the ceiling) and on the system messages alone (the floor).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

import msgspec

from ctxbench.context.manager import ContextManager
from ctxbench.conversation.model import Conversation, Message, Probe, message_to_dict
from ctxbench.conversation.validity import broken_rules
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.replay import Step, replay
from ctxbench.runs.schema import ContextRow, RetentionRow
from ctxbench.scoring.recall import recall
from ctxbench.scoring.retained import haystack, retained
from ctxbench.tokens.tokenizers import Tokenizer, count_messages

Budget = int | float
"""Tokens (2 and more), or a fraction (up to 1) of the conversation's tokens."""

MakeManager = Callable[[Conversation, int], ContextManager]


def budget_tokens(budget: Budget, conversation: Conversation, tokenizer: Tokenizer) -> int:
    """The budget in tokens of the run's exact tokenizer."""
    if isinstance(budget, bool) or not isinstance(budget, int | float) or budget <= 0:
        raise CtxbenchError(f"budget is {budget!r}; give tokens (2000) or a fraction of the conversation (0.25)")
    if budget <= 1:
        return int(budget * count_messages(tokenizer, conversation.messages))
    if budget != int(budget):
        raise CtxbenchError(f"budget is {budget}; a fraction is at most 1, tokens are a whole number")
    return int(budget)


def run_conversation(
    conversation: Conversation,
    budget: Budget,
    *,
    make_manager: MakeManager,
    tokenizer: Tokenizer,
    strategy: str,
    summarizer: str,
) -> tuple[list[ContextRow], list[RetentionRow]]:
    """Replay one conversation under one budget and score it.

    `strategy` and `summarizer` are the names that stand in the rows.
    """
    limit = budget_tokens(budget, conversation, tokenizer)
    contexts: list[ContextRow] = []
    samples: list[RetentionRow] = []
    for step in replay(conversation, make_manager(conversation, limit)):
        row = _context_row(step, conversation, str(budget), limit, tokenizer)
        contexts.append(row)
        if step.probes:
            samples += _score(step, row, strategy, summarizer)
    return contexts, samples


def _context_row(step: Step, conversation: Conversation, budget: str, limit: int, tokenizer: Tokenizer) -> ContextRow:
    context, usage = step.context, step.usage.values()
    kept, dropped, added = compare_messages(step.history, context.messages)
    tokens = count_messages(tokenizer, context.messages)
    return ContextRow(
        conversation=conversation.id,
        language=conversation.language,
        budget=budget,
        budget_tokens=limit,
        seen=len(step.history),
        tokens_full=count_messages(tokenizer, step.history),
        tokens_context=tokens,
        estimate_full=context.estimate_before,
        estimate=context.estimate,
        over_budget=tokens > limit,
        outcome=context.outcome,
        failure=context.failure,
        round=step.round,
        kept=kept,
        dropped=dropped,
        added=added,
        model_calls=sum(entry.calls for entry in usage),
        prompt_tokens=sum(entry.prompt_tokens for entry in usage),
        completion_tokens=sum(entry.completion_tokens for entry in usage),
        truncated_replies=sum(entry.truncated for entry in usage),
        latency_ms=step.latency_ms,
        validity=broken_rules(context.messages),
    )


def _score(step: Step, row: ContextRow, strategy: str, summarizer: str) -> Iterable[RetentionRow]:
    messages = step.context.messages
    here, full = haystack(messages), haystack(step.history)
    floor = haystack(message for message in step.history if message.is_system)
    shared = {name: getattr(row, name) for name in _SHARED}
    for probe in step.probes:
        yield RetentionRow(
            probe=probe.id,
            category=probe.category,
            position=_position(probe, len(step.history)),
            strategy=strategy,
            summarizer=summarizer,
            retained=retained(probe, here),
            retained_full=retained(probe, full),
            retained_empty=retained(probe, floor),
            recall=recall([step.history[index] for index in probe.evidence], messages),
            answered=None,
            **shared,
        )


_SHARED = [field for field in RetentionRow.__struct_fields__ if field in ContextRow.__struct_fields__]


def _position(probe: Probe, seen: int) -> float | None:
    if not probe.evidence:
        return None
    return sum(probe.evidence) / len(probe.evidence) / max(1, seen - 1)


def compare_messages(before: Sequence[Message], after: Sequence[Message]) -> tuple[int, int, int]:
    """How many messages of `before` were kept and dropped, and how many of `after` are new."""
    old, new = (Counter(map(_identity, messages)) for messages in (before, after))
    kept = (old & new).total()
    return kept, len(before) - kept, len(after) - kept


def _identity(message: Message) -> bytes:
    return msgspec.json.encode(message_to_dict(message))
