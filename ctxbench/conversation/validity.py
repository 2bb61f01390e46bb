"""Provider rules: what an API demands of a list of messages.

Each rule is a function from messages to the indices that break it, named in a
table by profile. The rules judge structure only; whether probes make sense is
`ctxbench.scoring.soundness`.
"""

from collections.abc import Callable, Sequence

from ctxbench.conversation.model import Message

Rule = Callable[[Sequence[Message]], list[int]]


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


RULES: dict[str, dict[str, Rule]] = {
    "openai": {
        "orphan_tool_result": orphan_tool_result,
        "unanswered_tool_call": unanswered_tool_call,
        "empty_assistant": empty_assistant,
    }
}


def broken_rules(messages: Sequence[Message], profile: str = "openai") -> list[str]:
    """The names of the profile's rules that the messages break, in the table's order."""
    return [name for name, rule in RULES[profile].items() if rule(messages)]
