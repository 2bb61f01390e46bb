"""Proves that the probes of a conversation measure what they claim.

For each probe: the evidence exists, the answer is found in the whole conversation,
and is not found once the evidence is removed (otherwise it leaks, and a strategy
could lose the evidence unpunished). Also: identifiers are unique, the language is the
one that the tag says, and the messages obey the provider's rules.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from ctxbench.conversation.model import Conversation, Message, Probe, content_text
from ctxbench.conversation.validity import PROFILES, RULES
from ctxbench.scoring.retained import found, haystack
from ctxbench.text.languages import is_tag, share_in_script
from ctxbench.text.normalise import normalise

ROLES = frozenset({"system", "developer", "user", "assistant", "tool"})
LEAST_IN_SCRIPT = 0.2
"""Share of letters in the language's own script; code and names may be in another."""
LEAST_LETTERS = 20
"""Letters from which the script is judged."""


class Fault(msgspec.Struct, frozen=True):
    """One thing that is wrong: its kind, to be counted, and what and where it is."""

    kind: str
    text: str


def faults(conversation: Conversation) -> Iterator[Fault]:
    """Yield what is wrong with a conversation; nothing when it is sound."""
    if not conversation.messages:
        yield Fault("empty", "no messages")
    yield from _language_faults(conversation)
    yield from _message_faults(conversation.messages)
    for probe_id, count in Counter(probe.id for probe in conversation.probes).items():
        if count > 1:
            yield Fault("duplicate_probe_id", f"probe {probe_id}: this id stands {count} times")
    for probe in conversation.probes:
        for kind, text in _probe_faults(conversation, probe):
            yield Fault(kind, f"probe {probe.id}: {text}")


def mark_verbatim(conversation: Conversation) -> Conversation:
    """The conversation, its probes marked whose answer is not found in it: only a model can score them."""
    marked = []
    for probe in conversation.probes:
        asked = conversation.messages if probe.after is None else conversation.messages[: probe.after + 1]
        whole = haystack(asked)
        verbatim = all(found(aliases, whole) for aliases in [probe.answers, *probe.also])
        marked.append(probe if verbatim or not probe.answers else msgspec.structs.replace(probe, verbatim=False))
    return msgspec.structs.replace(conversation, probes=marked)


def _language_faults(conversation: Conversation) -> Iterator[Fault]:
    tag = conversation.language
    if not is_tag(tag):
        yield Fault("language_tag", f"language {tag!r} is not a BCP 47 tag such as 'en' or 'zh-Hans'")
        return
    text = "\n".join(content_text(one) for one in conversation.messages if one.role in ("user", "assistant"))
    share = share_in_script(text, tag)
    if share is not None and share < LEAST_IN_SCRIPT and sum(map(str.isalpha, text)) >= LEAST_LETTERS:
        yield Fault("language_script", f"language {tag!r}, but {share:.0%} of the letters are of its script")


def _message_faults(messages: Sequence[Message]) -> Iterator[Fault]:
    for index, message in enumerate(messages):
        if message.role not in ROLES:
            yield Fault("unknown_role", f"message {index}: unknown role {message.role!r}")
    for name in PROFILES["openai"]:
        for index in RULES[name](messages):
            yield Fault(name, f"message {index}: {name.replace('_', ' ')}")
    for index, (one, two) in enumerate(pairwise(messages), start=1):
        if one == two and content_text(one):
            yield Fault("duplicate_turn", f"message {index}: the same as the one before")


def _probe_faults(conversation: Conversation, probe: Probe) -> Iterator[tuple[str, str]]:
    last = len(conversation.messages) - 1
    after = last if probe.after is None else probe.after
    if not 0 <= after <= last:
        yield "evidence_out_of_range", f"'after' is {after}; the messages are 0 to {last}"
        return
    if probe.category == "absent":
        if probe.answers or probe.evidence:
            yield "absent_with_answer", "an 'absent' probe has neither answers nor evidence"
        return
    outside = [index for index in probe.evidence if not 0 <= index <= after]
    if outside:
        yield "evidence_out_of_range", f"evidence {outside}; indices are 0 to {after}, those seen when it is asked"
        return
    if not probe.evidence:
        yield "no_evidence", "evidence is empty"
    asked = conversation.messages[: after + 1]
    for aliases in [probe.answers, *probe.also]:
        for alias in aliases:
            if len(normalise(alias)) < 2:
                yield "alias_too_short", f"answer {alias!r} is too short to mean anything"
        if probe.verbatim:
            yield from _answer_faults(asked, set(probe.evidence), aliases)


def _answer_faults(asked: Sequence[Message], evidence: set[int], aliases: list[str]) -> Iterator[tuple[str, str]]:
    if not found(aliases, haystack(asked)):
        yield "answer_not_found", f"no answer of {aliases} is found in the conversation"
        return
    if evidence and not found(aliases, haystack(asked[index] for index in sorted(evidence))):
        yield "answer_not_in_evidence", f"no answer of {aliases} is found in its evidence {sorted(evidence)}"
    for alias in aliases if evidence else ():
        leaks = [i for i, m in enumerate(asked) if i not in evidence and found([alias], haystack([m]))]
        if leaks:
            yield "answer_leaks", f"answer {alias!r} leaks: it also stands in messages {leaks}, outside the evidence"
