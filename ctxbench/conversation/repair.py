"""Mends a list of messages for a provider's profile, with the least change, and says what it did.

System and user texts are never lost, and nothing is invented: an unanswered call is
dropped, not answered with a stub, and no user message is made up where there is none.
Where a message stands wrongly its text moves:

- What stands before the first user message is put at its beginning, as `[assistant] ...`.
  So it keeps its place and its speaker; in a system message a tool's text would gain authority.
- Where tool turns do not count (`mistral`), two user messages with only a tool turn between
  them become one, before that turn: the results stay what the model answers next.

What is broken is told by `validity`; when to repair is the caller's matter.
"""

from collections.abc import Callable, Sequence

import msgspec

from ctxbench.conversation.model import Json, Message
from ctxbench.conversation.validity import (
    RULES,
    begin,
    empty_assistant,
    in_tool_turn,
    orphan_tool_result,
    profile_rules,
    unanswered_tool_call,
)

Content = str | list[Json] | None
Mended = tuple[list[Message], list[str]]
"""The messages, and what was changed."""


def repair(messages: Sequence[Message], profile: str) -> Mended:
    """The messages as the profile accepts them, and a short line for each change.

    Messages that need no change are the same objects; the input is left alone. A rule that
    cannot be mended honestly is told by a last line `not mendable: ...`. Raises
    `CtxbenchError` for an unknown profile.
    """
    demanded = profile_rules(profile)
    mended, changes = list(messages), list[str]()
    for name, mend in MENDS.items():
        if name in demanded and RULES[name](mended):
            mended, told = mend(mended)
            changes += told
    left = [f"not mendable: {name.replace('_', ' ')}" for name in demanded if RULES[name](mended)]
    return mended, changes + left


def _systems_first(messages: list[Message]) -> Mended:
    start = begin(messages)
    late = [message for message in messages[start:] if message.is_system]
    others = [message for message in messages[start:] if not message.is_system]
    return [*messages[:start], *late, *others], [f"moved {_count(late, 'system message')} to the front"]


def _one_system_first(messages: list[Message]) -> Mended:
    system = [message for message in messages if message.is_system]
    others = [message for message in messages if not message.is_system]
    if len(system) == 1:
        return system + others, ["moved 1 system message to the front"]
    return [_merged(system), *others], [f"merged {len(system)} system messages into the first"]


def _no_empty_assistant(messages: list[Message]) -> Mended:
    empty = empty_assistant(messages)
    return _without(messages, empty), [f"dropped {_count(empty, 'empty assistant message')}"]


def _no_orphan(messages: list[Message]) -> Mended:
    orphans = orphan_tool_result(messages)
    return _without(messages, orphans), [
        f"dropped orphan tool result {messages[index].tool_call_id}" for index in orphans
    ]


def _no_unanswered(messages: list[Message]) -> Mended:
    mended, changes, emptied = list(messages), [], []
    for index in unanswered_tool_call(messages):
        calls, answered = messages[index].tool_calls, _answered(messages, index)
        changes += [f"dropped unanswered tool call {call.id}" for call in calls if call.id not in answered]
        kept = tuple(call for call in calls if call.id in answered)
        mended[index] = msgspec.structs.replace(messages[index], tool_calls=kept)
        if empty_assistant([mended[index]]):
            emptied.append(index)
    return _without(mended, emptied), changes


def _answered(messages: list[Message], caller: int) -> set[str | None]:
    """The ids that the tool messages right after a message answer."""
    ids = set()
    for index in range(caller + 1, len(messages)):
        if messages[index].role != "tool":
            break
        ids.add(messages[index].tool_call_id)
    return ids


def _user_first(messages: list[Message]) -> Mended:
    start = begin(messages)
    user = next((index for index, message in enumerate(messages) if message.role == "user"), None)
    if user is None:
        return messages, []
    before, first = messages[start:user], messages[user]
    content = _joined([*(_told(message) for message in before), first.content])
    told = f"moved {_count(before, 'message')} into the first user message"
    return [*messages[:start], msgspec.structs.replace(first, content=content), *messages[user + 1 :]], [told]


def _no_repeats(messages: list[Message]) -> Mended:
    groups: list[list[Message]] = []
    for message in messages:
        mergeable = message.role != "tool" and not message.is_system
        if mergeable and groups and groups[-1][0].role == message.role:
            groups[-1].append(message)
        else:
            groups.append([message])
    return _merge_groups(groups)


def _no_repeats_outside_tools(messages: list[Message]) -> Mended:
    groups: list[list[Message]] = []
    last = -1  # the group that holds the last message that counts
    for message in messages:
        if message.is_system or in_tool_turn(message):
            groups.append([message])
            continue
        if last < 0 or groups[last][0].role != message.role:
            groups.append([message])
        elif message.role == "assistant" and last + 1 < len(groups):
            # Said before a call and after its results: the former becomes the call's own text.
            groups[last + 1][:0] = groups[last]
            groups[last] = []
            groups.append([message])
        else:
            groups[last].append(message)
            continue
        last = len(groups) - 1
    return _merge_groups([group for group in groups if group])


MENDS: dict[str, Callable[[list[Message]], Mended]] = {
    "late_system": _systems_first,
    "system_not_first": _one_system_first,
    "empty_assistant": _no_empty_assistant,
    "orphan_tool_result": _no_orphan,
    "unanswered_tool_call": _no_unanswered,
    "first_not_user": _user_first,
    "repeated_turn": _no_repeats,
    "repeated_turn_outside_tools": _no_repeats_outside_tools,
}
"""Rule -> what mends it, in the order of work: what only stands between a call and its
results goes before results are dropped; texts are merged when nothing is dropped any more."""


def _merge_groups(groups: list[list[Message]]) -> Mended:
    changes = [f"merged {len(group)} {group[0].role} messages" for group in groups if len(group) > 1]
    return [group[0] if len(group) == 1 else _merged(group) for group in groups], changes


def _merged(messages: Sequence[Message]) -> Message:
    """One message with all contents and calls; the rest is the first one's."""
    content = _joined([message.content for message in messages])
    calls = tuple(call for message in messages for call in message.tool_calls)
    return msgspec.structs.replace(messages[0], content=content, tool_calls=calls)


def _joined(contents: Sequence[Content]) -> Content:
    """Texts with a blank line between them; a list of parts as soon as one is a list."""
    filled = [content for content in contents if content]
    if not filled:
        return contents[0]
    texts = [content for content in filled if isinstance(content, str)]
    if len(texts) == len(filled):
        return "\n\n".join(texts)
    return [part for content in filled for part in _parts(content)]


def _told(message: Message) -> Content:
    """What a message says, with its speaker before it; calls as `name(arguments)`."""
    calls = [f"{call.function.name}({call.function.arguments})" for call in message.tool_calls]
    if isinstance(message.content, list):
        return [*_parts(f"[{message.role}]"), *message.content, *(part for call in calls for part in _parts(call))]
    return f"[{message.role}] " + "\n".join(text for text in [message.content, *calls] if text)


def _parts(content: str | list[Json]) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _without(messages: list[Message], indices: Sequence[int]) -> list[Message]:
    dropped = set(indices)
    return [message for index, message in enumerate(messages) if index not in dropped]


def _count(items: Sequence[object], noun: str) -> str:
    return f"{len(items)} {noun}{'' if len(items) == 1 else 's'}"
