"""Proves that the probes of a conversation measure what they claim.

For each probe: the evidence exists, the answer is found in the whole conversation,
and is not found once the evidence is removed (otherwise it leaks, and a strategy
could lose the evidence unpunished). Also: identifiers are unique, the language tag
is well formed, and the messages obey the provider's rules.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import regex

from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.conversation.validity import RULES
from ctxbench.scoring.retained import found, haystack

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
_LANGUAGE_TAG = regex.compile(r"[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?")


def faults(conversation: Conversation) -> Iterator[str]:
    """Yield what is wrong with a conversation, a line each; nothing when it is sound."""
    if not conversation.messages:
        yield "no messages"
    if not _LANGUAGE_TAG.fullmatch(conversation.language):
        yield f"language {conversation.language!r} is not a BCP 47 tag such as 'en' or 'zh-Hans'"
    for index, message in enumerate(conversation.messages):
        if message.role not in ROLES:
            yield f"message {index}: unknown role {message.role!r}"
    for name, rule in RULES["openai"].items():
        for index in rule(conversation.messages):
            yield f"message {index}: {name.replace('_', ' ')}"
    for probe_id, count in Counter(probe.id for probe in conversation.probes).items():
        if count > 1:
            yield f"probe {probe_id}: this id stands {count} times"
    for probe in conversation.probes:
        for fault in _probe_faults(conversation, probe):
            yield f"probe {probe.id}: {fault}"


def _probe_faults(conversation: Conversation, probe: Probe) -> Iterator[str]:
    last = len(conversation.messages) - 1
    after = last if probe.after is None else probe.after
    if not 0 <= after <= last:
        yield f"'after' is {after}; the messages are 0 to {last}"
        return
    if probe.category == "absent":
        if probe.answers or probe.evidence:
            yield "an 'absent' probe has neither answers nor evidence"
        return
    outside = [index for index in probe.evidence if not 0 <= index <= after]
    if outside or not probe.evidence:
        yield f"evidence {outside or 'is empty'}; indices are 0 to {after}, those seen when it is asked"
        return
    asked = conversation.messages[: after + 1]
    for aliases in [probe.answers, *probe.also]:
        yield from _answer_faults(asked, set(probe.evidence), aliases)


def _answer_faults(asked: Sequence[Message], evidence: set[int], aliases: list[str]) -> Iterator[str]:
    if not found(aliases, haystack(asked)):
        yield f"no answer of {aliases} is found in the conversation"
    elif not found(aliases, haystack(asked[index] for index in sorted(evidence))):
        yield f"no answer of {aliases} is found in its evidence {sorted(evidence)}"
    for alias in aliases:
        leaks = [i for i, m in enumerate(asked) if i not in evidence and found([alias], haystack([m]))]
        if leaks:
            yield f"answer {alias!r} leaks: it also stands in messages {leaks}, outside the evidence"
