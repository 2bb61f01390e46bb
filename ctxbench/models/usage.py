"""Counts what models were asked for, by purpose, within a block of code.

with ledger() as usage:
    ...                      # anything that completes chats, in this thread
usage["summary"].calls
"""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import msgspec

from ctxbench.models.base import Purpose, Reply


class Usage(msgspec.Struct):
    """Calls, tokens, seconds of waiting and cut-off answers."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    truncated: int = 0


Ledger = defaultdict[Purpose, Usage]

_current: ContextVar[Ledger | None] = ContextVar("ctxbench_ledger", default=None)


@contextmanager
def ledger() -> Iterator[Ledger]:
    """Collect the usage of the block; an inner block's usage does not count in the outer one."""
    usage: Ledger = defaultdict(Usage)
    token = _current.set(usage)
    try:
        yield usage
    finally:
        _current.reset(token)


def note_ledger(spent: Ledger) -> None:
    """Add what another thread's block collected to the ledger of the surrounding block, if there is one."""
    usage = _current.get()
    if usage is None:
        return
    for purpose, more in spent.items():
        entry = usage[purpose]
        for field in Usage.__struct_fields__:
            setattr(entry, field, getattr(entry, field) + getattr(more, field))


def note_usage(purpose: Purpose, reply: Reply | None, seconds: float) -> None:
    """Add one call to the ledger of the surrounding block, if there is one."""
    usage = _current.get()
    if usage is None:
        return
    entry = usage[purpose]
    entry.calls += 1
    entry.seconds += seconds
    if reply is not None:
        entry.prompt_tokens += reply.prompt_tokens
        entry.completion_tokens += reply.completion_tokens
        entry.truncated += reply.finish_reason == "length"
