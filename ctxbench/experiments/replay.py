"""Replays a conversation through a context manager, as an application would live it.

Before each assistant turn the context is asked for, then the turn is added as it was
recorded. Where probes are due, the context is asked for too. After the end the session
may go on for some rounds of other talk, after each of which the probes of the end are
asked again. Scoring is not done here.

Before each user turn the replay can wait, as a user would think and type: what a manager
does in the background is done then, and only what somebody waits for is in `latency_ms`.
"""

import time
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence

import msgspec

from ctxbench.context.manager import Context, ContextManager
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.models.usage import Ledger, ledger


class Step(msgspec.Struct):
    """One context that was asked for, after `len(history)` messages."""

    history: list[Message]
    turn: bool
    """Whether a model would be asked here."""
    context: Context
    probes: list[Probe]
    usage: Ledger
    round: int
    """Rounds of other talk since the end of the conversation."""
    compressions: int
    latency_ms: float


def asks(conversation: Conversation) -> dict[int, list[Probe]]:
    """After how many messages a context is asked for, in order, with the probes due there."""
    last = len(conversation.messages)
    due: defaultdict[int, list[Probe]] = defaultdict(list)
    for probe in conversation.probes:
        due[last if probe.after is None else probe.after + 1].append(probe)
    turns = {index for index, message in enumerate(conversation.messages) if message.role == "assistant"}
    return {seen: due.get(seen, []) for seen in sorted(turns | due.keys()) if seen > 0}


def replay(
    conversation: Conversation,
    manager: ContextManager,
    rounds: Sequence[Sequence[Message]] = (),
    turn_s: float = 0.0,
) -> Iterator[Step]:
    """Yield a step for each context asked for; the session is cleared at the end.

    `rounds`: the messages of each further round. `turn_s`: seconds to wait before each user turn.
    The session has a name of its own, so that runs which share a storage do not meet.
    """
    session = f"{conversation.id}/{uuid.uuid4().hex}"
    asked, history = asks(conversation), list(conversation.messages)
    last = len(history)
    try:
        for seen, message in enumerate(conversation.messages, start=1):
            _wait(message, turn_s)
            manager.add_message(session, message)
            if seen in asked:
                turn = seen < last and history[seen].role == "assistant"
                yield _step(history[:seen], turn, asked[seen], 0, session, manager)
        for number, messages in enumerate(rounds, start=1):
            for message in messages:
                if message.role == "assistant":
                    yield _step(list(history), True, [], number, session, manager)
                _wait(message, turn_s)
                manager.add_message(session, message)
                history.append(message)
            yield _step(list(history), False, asked.get(last, []), number, session, manager)
    finally:
        manager.clear(session)


def _wait(message: Message, turn_s: float) -> None:
    if message.role == "user" and turn_s:
        time.sleep(turn_s)


def _step(
    history: list[Message], turn: bool, probes: list[Probe], number: int, session: str, manager: ContextManager
) -> Step:
    with ledger() as usage:
        started = time.perf_counter()
        context = manager.build_context(session)
        latency_ms = 1000 * (time.perf_counter() - started)
    return Step(history, turn, context, probes, usage, number, manager.stats(session).compressions, latency_ms)
