"""Provider rules: what APIs and chat templates demand of a list of messages.

`RULES` holds each rule once; `PROFILES` says who demands which. The rules judge the
structure of a context. Who may speak last is left open, as contexts are judged after an
answer too. Whether probes make sense is `ctxbench.scoring.soundness`, mending is `repair`.

- `openai`: a call and its results stand together.
- `anthropic`: as `openai`; the user begins, the speakers take turns, system messages
  stand before all others (they become the top-level `system`). Results are blocks of a
  user turn, so that user text may follow them. Stricter than the API itself, which by its
  reference joins two turns of one speaker; it used to refuse them, and gateways may still.
- `mistral`: as `openai`; one system message at most, at the beginning; the user begins,
  the speakers take turns if tool calls and results are left out. So the templates of
  Mistral 7B v0.3, Nemo and Small 3.2; newer ones join the turns of one speaker.
- `qwen`: the templates of Qwen3.5 and 3.6 refuse a second system message, even right
  after the first, and a list without a user's message. Calls they do not check.

A `developer` message counts as a system message; templates know only the older name.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from ctxbench.conversation.model import SYSTEM_ROLES, Message
from ctxbench.errors import unknown_name

Rule = Callable[[Sequence[Message]], list[int]]
"""Messages -> the indices of those that break the rule, in order."""


def orphan_tool_result(messages: Sequence[Message]) -> list[int]:
    """Tool messages whose call does not stand open right before them."""
    broken = []
    open_calls: set[str] = set()
    for index, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id in open_calls:
                open_calls.discard(message.tool_call_id)
            else:
                broken.append(index)
        else:
            open_calls = {call.id for call in message.tool_calls}
    return broken


def unanswered_tool_call(messages: Sequence[Message]) -> list[int]:
    """Assistant messages with a call that the tool messages right after do not answer."""
    broken = []
    caller, open_calls = -1, set[str]()
    for index, message in enumerate(messages):
        if message.role == "tool":
            open_calls.discard(message.tool_call_id or "")
            continue
        if open_calls:
            broken.append(caller)
        caller, open_calls = index, {call.id for call in message.tool_calls}
    return [*broken, caller] if open_calls else broken


def empty_assistant(messages: Sequence[Message]) -> list[int]:
    """Assistant messages with neither content nor tool calls."""
    return [
        index
        for index, message in enumerate(messages)
        if message.role == "assistant" and not message.content and not message.tool_calls
    ]


def late_system(messages: Sequence[Message]) -> list[int]:
    """System messages after any other message."""
    start = begin(messages)
    return [index for index, message in enumerate(messages) if index > start and message.role in SYSTEM_ROLES]


def system_not_first(messages: Sequence[Message]) -> list[int]:
    """System messages anywhere but at the very beginning."""
    return [index for index, message in enumerate(messages) if index and message.role in SYSTEM_ROLES]


def first_not_user(messages: Sequence[Message]) -> list[int]:
    """The first message after the system messages, if it is not the user's."""
    start = begin(messages)
    return [start] if start < len(messages) and messages[start].role != "user" else []


def repeated_turn(messages: Sequence[Message]) -> list[int]:
    """Messages right after one of the same role; results of several calls may follow one another."""
    return _repeats(messages, [i for i, one in enumerate(messages) if one.role not in SYSTEM_ROLES])


def repeated_turn_outside_tools(messages: Sequence[Message]) -> list[int]:
    """Messages after one of the same role, with tool results and messages that call tools left out."""
    return _repeats(
        messages, [i for i, one in enumerate(messages) if one.role not in SYSTEM_ROLES and not in_tool_turn(one)]
    )


def no_user_message(messages: Sequence[Message]) -> list[int]:
    """The beginning, if no message is the user's (in an empty list too)."""
    return [] if any(message.role == "user" for message in messages) else [0]


def begin(messages: Sequence[Message]) -> int:
    """Index of the first message that is no system message (`len(messages)` if there is none)."""
    return next((i for i, message in enumerate(messages) if message.role not in SYSTEM_ROLES), len(messages))


def in_tool_turn(message: Message) -> bool:
    """Whether the message is a tool's result, or an assistant's that calls tools."""
    return message.role == "tool" or (message.role == "assistant" and bool(message.tool_calls))


def _repeats(messages: Sequence[Message], indices: Sequence[int]) -> list[int]:
    return [two for one, two in pairwise(indices) if messages[one].role == messages[two].role != "tool"]


RULES: dict[str, Rule] = {
    "orphan_tool_result": orphan_tool_result,
    "unanswered_tool_call": unanswered_tool_call,
    "empty_assistant": empty_assistant,
    "late_system": late_system,
    "system_not_first": system_not_first,
    "first_not_user": first_not_user,
    "repeated_turn": repeated_turn,
    "repeated_turn_outside_tools": repeated_turn_outside_tools,
    "no_user_message": no_user_message,
}

_PAIRS = ("orphan_tool_result", "unanswered_tool_call", "empty_assistant")

PROFILES: dict[str, tuple[str, ...]] = {
    "openai": _PAIRS,
    "anthropic": (*_PAIRS, "late_system", "first_not_user", "repeated_turn", "no_user_message"),
    "mistral": (*_PAIRS, "system_not_first", "first_not_user", "repeated_turn_outside_tools"),
    "qwen": ("system_not_first", "no_user_message"),
}


def profile_rules(profile: str) -> tuple[str, ...]:
    """The names of the rules that a profile demands; raises `CtxbenchError` for an unknown one."""
    if profile not in PROFILES:
        raise unknown_name("profile", profile, list(PROFILES))
    return PROFILES[profile]


def broken_rules(messages: Sequence[Message]) -> list[str]:
    """The names of all rules that the messages break, in the table's order."""
    return [name for name, rule in RULES.items() if rule(messages)]


def is_valid(broken: Iterable[str], profile: str) -> bool:
    """Whether a profile accepts messages that break the rules `broken`."""
    return set(profile_rules(profile)).isdisjoint(broken)
