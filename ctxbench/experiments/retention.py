"""The retention experiment: which answers can still be found after compression.

For each conversation and budget the conversation is replayed; every context gives a
`ContextRow`, every probe a `RetentionRow` with the same probe on the baselines: the
whole history (the ceiling), the system messages alone (the floor), the evidence alone
and random messages. A reader model may answer from the context, and a judge grade it.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

import msgspec

from ctxbench.context.manager import ContextManager
from ctxbench.conversation.model import Conversation, Message, Probe, message_to_dict
from ctxbench.conversation.validity import broken_rules
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.baselines import empty, oracle, random_messages
from ctxbench.experiments.filler import filler
from ctxbench.experiments.replay import Step, replay
from ctxbench.runs.schema import ContextRow, RetentionRow
from ctxbench.scoring.recall import recall
from ctxbench.scoring.retained import found, haystack, retained
from ctxbench.tokens.tokenizers import Tokenizer, count_messages

Budget = int | float
"""Tokens (2 and more), or a fraction (up to 1) of the conversation's tokens."""

MakeManager = Callable[[Conversation, int], ContextManager]
Answer = Callable[[Probe, Sequence[Message]], dict[str, object]]
"""Asks models about a probe: the fields of a row that they fill."""

ROUND_SHARE = 0.25
"""Other talk in each round, as a share of the budget."""


class Setup(msgspec.Struct, frozen=True):
    """What a run of the experiment needs besides the conversation and the budget."""

    make_manager: MakeManager
    tokenizer: Tokenizer
    strategy: str
    summarizer: str
    seed: int = 0
    rounds: int = 0
    turn_s: float = 0.0
    answer: Answer | None = None


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
    conversation: Conversation, budget: Budget, setup: Setup
) -> tuple[list[ContextRow], list[RetentionRow]]:
    """Replay one conversation under one budget and score it."""
    limit = budget_tokens(budget, conversation, setup.tokenizer)
    rounds = [
        list(filler(conversation, int(ROUND_SHARE * limit), setup.tokenizer, f"{setup.seed}-{number}"))
        for number in range(setup.rounds)
    ]
    contexts: list[ContextRow] = []
    samples: list[RetentionRow] = []
    before: list[Message] = []
    for step in replay(conversation, setup.make_manager(conversation, limit), rounds, setup.turn_s):
        row = _context_row(step, before, conversation, str(budget), limit, setup.tokenizer)
        before = step.context.messages
        contexts.append(row)
        if step.probes:
            samples += _score(step, row, setup)
    return contexts, samples


def _context_row(
    step: Step, before: list[Message], conversation: Conversation, budget: str, limit: int, tokenizer: Tokenizer
) -> ContextRow:
    context, usage = step.context, step.usage.values()
    kept, dropped, added = compare_messages(step.history, context.messages)
    tokens = count_messages(tokenizer, context.messages)
    return ContextRow(
        conversation=conversation.id,
        language=conversation.language,
        budget=budget,
        budget_tokens=limit,
        seen=len(step.history),
        turn=step.turn,
        tokens_full=count_messages(tokenizer, step.history),
        tokens_context=tokens,
        prefix_tokens=count_messages(tokenizer, common_prefix(before, context.messages)),
        estimate_full=context.estimate_before,
        estimate=context.estimate,
        over_budget=tokens > limit,
        outcome=context.outcome,
        failure=context.failure,
        round=step.compressions,
        kept=kept,
        dropped=dropped,
        added=added,
        inflated=context.estimate > context.estimate_before,
        model_calls=sum(entry.calls for entry in usage),
        prompt_tokens=sum(entry.prompt_tokens for entry in usage),
        completion_tokens=sum(entry.completion_tokens for entry in usage),
        truncated_replies=sum(entry.truncated for entry in usage),
        latency_ms=step.latency_ms,
        validity=broken_rules(context.messages),
        repairs=list(context.repairs),
    )


def _score(step: Step, row: ContextRow, setup: Setup) -> Iterable[RetentionRow]:
    messages, history, tokenizer = step.context.messages, step.history, setup.tokenizer
    here, full, floor = haystack(messages), haystack(history), haystack(empty(history))
    seed = f"{setup.seed}-{row.conversation}-{row.budget}-{row.seen}"
    drawn = haystack(random_messages(history, row.budget_tokens, tokenizer, seed))
    shared = {name: getattr(row, name) for name in _SHARED}
    for probe in step.probes:
        best = haystack(oracle(history, probe.evidence, row.budget_tokens, tokenizer))
        answered = setup.answer(probe, messages) if setup.answer else _NOT_ANSWERED
        yield RetentionRow(
            probe=probe.id,
            category=probe.category,
            position=_position(probe, len(history)),
            strategy=setup.strategy,
            summarizer=setup.summarizer,
            round=step.round,
            retained=retained(probe, here),
            retained_full=retained(probe, full),
            retained_empty=retained(probe, floor),
            retained_oracle=retained(probe, best) if probe.evidence else None,
            retained_random=retained(probe, drawn),
            stale=found(probe.stale, here) if probe.stale else None,
            recall=recall([history[index] for index in probe.evidence], messages),
            **answered,  # type: ignore[arg-type]
            **shared,
        )


_NOT_ANSWERED: dict[str, object] = dict.fromkeys(("answer", "answered", "exact", "f1", "judged"))
_SHARED = [
    field for field in RetentionRow.__struct_fields__ if field in ContextRow.__struct_fields__ and field != "round"
]


def _position(probe: Probe, seen: int) -> float | None:
    if not probe.evidence:
        return None
    return sum(probe.evidence) / len(probe.evidence) / max(1, seen - 1)


def common_prefix(before: Sequence[Message], after: Sequence[Message]) -> list[Message]:
    """The messages at the head of `after` that are the same as in `before`."""
    pairs = zip(before, after, strict=False)
    return [new for _, new in takewhile(lambda pair: pair[0] == pair[1], pairs)]


def compare_messages(before: Sequence[Message], after: Sequence[Message]) -> tuple[int, int, int]:
    """How many messages of `before` were kept and dropped, and how many of `after` are new."""
    old, new = (Counter(map(_identity, messages)) for messages in (before, after))
    kept = (old & new).total()
    return kept, len(before) - kept, len(after) - kept


def _identity(message: Message) -> bytes:
    return msgspec.json.encode(message_to_dict(message))
