"""Replays a conversation through a context manager, as an application would live it.

Before each assistant turn the context is asked for, then the turn is added as it was
recorded. Where probes are due, the context is asked for too. Scoring is not done here.
"""

import time
from collections import defaultdict
from collections.abc import Iterator

import msgspec

from ctxbench.context.manager import Context, ContextManager
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.models.usage import Ledger, ledger


class Step(msgspec.Struct):
    """One context that was asked for, after `len(history)` messages."""

    history: list[Message]
    context: Context
    probes: list[Probe]
    usage: Ledger
    round: int
    latency_ms: float


def asks(conversation: Conversation) -> dict[int, list[Probe]]:
    """After how many messages a context is asked for, in order, with the probes due there."""
    last = len(conversation.messages)
    due: defaultdict[int, list[Probe]] = defaultdict(list)
    for probe in conversation.probes:
        due[last if probe.after is None else probe.after + 1].append(probe)
    turns = {index for index, message in enumerate(conversation.messages) if message.role == "assistant"}
    return {seen: due.get(seen, []) for seen in sorted(turns | due.keys()) if seen > 0}


def replay(conversation: Conversation, manager: ContextManager) -> Iterator[Step]:
    """Yield a step for each context asked for; the session is cleared at the end."""
    session, asked = conversation.id, asks(conversation)
    manager.clear(session)
    try:
        for seen, message in enumerate(conversation.messages, start=1):
            manager.add_message(session, message)
            if seen in asked:
                yield _step(conversation.messages[:seen], asked[seen], session, manager)
    finally:
        manager.clear(session)


def _step(history: list[Message], probes: list[Probe], session: str, manager: ContextManager) -> Step:
    with ledger() as usage:
        started = time.perf_counter()
        context = manager.build_context(session)
        latency_ms = 1000 * (time.perf_counter() - started)
    return Step(history, context, probes, usage, manager.stats(session).compressions, latency_ms)
