"""Worked examples, one a mend, and what must hold for any messages."""

from copy import deepcopy

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ctxbench.conversation.model import FunctionCall, Message, ToolCall, content_text
from ctxbench.conversation.repair import MENDS, repair
from ctxbench.conversation.validity import PROFILES, broken_rules, is_valid, profile_rules
from ctxbench.errors import CtxbenchError
from tests.conversation import strategies


def call(*ids: str, text: str | None = None) -> Message:
    return Message("assistant", text, tool_calls=tuple(ToolCall(one, FunctionCall("look", "{}")) for one in ids))


def result(call_id: str, text: str = "ok") -> Message:
    return Message("tool", text, tool_call_id=call_id)


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


def system(text: str) -> Message:
    return Message("system", text)


PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    ("profile", "messages", "mended", "changes"),
    [
        (
            "openai",
            [user("a"), result("3"), assistant("b"), result("4")],
            [user("a"), assistant("b")],
            ["dropped orphan tool result 3", "dropped orphan tool result 4"],
        ),
        (
            "openai",
            [user("a"), call("1", "2", text="I look."), result("1"), call("5"), user("b")],
            [user("a"), call("1", text="I look."), result("1"), user("b")],
            ["dropped unanswered tool call 2", "dropped unanswered tool call 5"],
        ),
        ("openai", [user("a"), call("1", text="I look.")], [user("a"), assistant("I look.")],
         ["dropped unanswered tool call 1"]),
        (
            "openai",  # the empty message goes first, so that the call keeps its result
            [user("a"), call("1"), assistant(""), result("1")],
            [user("a"), call("1"), result("1")],
            ["dropped 1 empty assistant message"],
        ),
        (
            "anthropic",
            [system("s"), user("a"), system("t"), assistant("b"), Message("developer", "u")],
            [system("s"), system("t"), Message("developer", "u"), user("a"), assistant("b")],
            ["moved 2 system messages to the front"],
        ),
        (
            "anthropic",  # and here the system message goes first
            [user("a"), call("1"), system("s"), result("1")],
            [system("s"), user("a"), call("1"), result("1")],
            ["moved 1 system message to the front"],
        ),
        (
            "anthropic",
            [user("a"), user("b"), assistant("c"), call("1"), result("1"), user("d"), user("e"), user("f")],
            [user("a\n\nb"), call("1", text="c"), result("1"), user("d\n\ne\n\nf")],
            ["merged 2 user messages", "merged 2 assistant messages", "merged 3 user messages"],
        ),
        (
            "anthropic",
            [system("s"), assistant("Hello."), call("1", text="I look."), result("1", "rain"), user("a")],
            [system("s"), user("[assistant] Hello.\n\n[assistant] I look.\nlook({})\n\n[tool] rain\n\na")],
            ["moved 3 messages into the first user message"],
        ),
        (
            "anthropic",  # where several system messages may stand, they stay several
            [system("s"), system("t"), user(""), user("a")],
            [system("s"), system("t"), user("a")],
            ["merged 2 user messages"],
        ),
        ("mistral", [user("a"), system("s")], [system("s"), user("a")], ["moved 1 system message to the front"]),
        (
            "mistral",
            [user("a"), call("1"), result("1"), user("b"), assistant("c")],
            [user("a\n\nb"), call("1"), result("1"), assistant("c")],
            ["merged 2 user messages"],
        ),
        (
            "mistral",
            [user("a"), assistant("b"), call("1", text="I look."), result("1"), assistant("c"), assistant("d")],
            [user("a"), call("1", text="b\n\nI look."), result("1"), assistant("c\n\nd")],
            ["merged 2 assistant messages", "merged 2 assistant messages"],
        ),
        (
            "qwen",
            [system("s"), system("t"), user("a"), Message("developer", "u")],
            [system("s\n\nt\n\nu"), user("a")],
            ["merged 3 system messages into the first"],
        ),
        ("qwen", [system("s"), assistant("a")], [system("s"), assistant("a")], ["not mendable: no user message"]),
        ("anthropic", [], [], ["not mendable: no user message"]),
        (
            "anthropic",
            [assistant("a"), assistant("b")],
            [assistant("a\n\nb")],
            ["merged 2 assistant messages", "not mendable: first not user", "not mendable: no user message"],
        ),
    ],
)  # fmt: skip
def test_a_mend_loses_as_little_as_it_can(
    profile: str, messages: list[Message], mended: list[Message], changes: list[str]
) -> None:
    assert repair(messages, profile) == (mended, changes)


def test_parts_are_joined_to_a_list_of_parts() -> None:
    messages = [user("a"), Message("user", [PICTURE]), Message("user", None)]
    (merged,), _ = repair(messages, "anthropic")
    assert merged.content == [{"type": "text", "text": "a"}, PICTURE]
    (told,), _ = repair([Message("assistant", [PICTURE]), user("b")], "anthropic")
    assert told.content == [{"type": "text", "text": "[assistant]"}, PICTURE, {"type": "text", "text": "b"}]


def test_a_merged_message_keeps_what_the_first_one_has_else() -> None:
    first, second = Message("user", "a", name="ada", extra={"x": 1}), Message("user", "b", name="bob", extra={"y": 2})
    assert repair([first, second], "anthropic")[0] == [Message("user", "a\n\nb", name="ada", extra={"x": 1})]


def test_an_unknown_profile_is_told() -> None:
    with pytest.raises(CtxbenchError, match="unknown profile 'claude'; known: anthropic"):
        repair([], "claude")


def test_every_rule_has_a_mend_but_the_one_that_has_none() -> None:
    demanded = {name for profile in PROFILES for name in profile_rules(profile)}
    assert demanded - set(MENDS) == {"no_user_message"}


def _only_assistants_call(message: Message) -> Message:
    return message if message.role == "assistant" else msgspec.structs.replace(message, tool_calls=())


def _tool_turn(ids: list[str], lost: int) -> list[Message]:
    """A call and its results; one of them is missing when `lost` names it."""
    turn = [call(*ids, text=f"call {ids}"), *(result(one, f"result {one}") for one in ids)]
    return [message for index, message in enumerate(turn) if index != lost]


turns = st.one_of(
    st.builds(lambda text: [user(text)], strategies.text),
    st.builds(lambda text: [assistant(text)], strategies.text),
    st.builds(lambda text: [system(text)], strategies.text),
    st.builds(_tool_turn, st.lists(strategies.names, min_size=1, max_size=3, unique=True), st.integers(0, 9)),
)
chats = st.lists(turns, max_size=8).map(lambda groups: [message for group in groups for message in group])
anything = st.lists(strategies.messages.map(_only_assistants_call), max_size=8)
profiles = st.sampled_from(list(PROFILES))


@given(chats | anything, profiles)
def test_what_is_mended_is_valid_and_stays_so(messages: list[Message], profile: str) -> None:
    before = deepcopy(messages)
    mended, changes = repair(messages, profile)
    assert messages == before
    left = [change for change in changes if change.startswith("not mendable")]
    assert is_valid(broken_rules(mended), profile) == (not left)
    assert not left or not any(message.role == "user" for message in messages)
    assert repair(mended, profile) == (mended, left)


@given(chats | anything, profiles)
def test_no_system_and_no_user_text_is_lost_and_the_order_is_kept(messages: list[Message], profile: str) -> None:
    mended, _ = repair(messages, profile)
    for kind in ("system", "user"):
        rest = "\n".join(content_text(one) for one in mended if _kind(one) == kind)
        for message in messages:
            for text in content_text(message).split("\n") if _kind(message) == kind else ():
                assert text in rest
                rest = rest[rest.index(text) + len(text) :]


@given(chats | anything, profiles)
def test_answers_are_kept_and_so_are_results_that_have_their_call(messages: list[Message], profile: str) -> None:
    mended, changes = repair(messages, profile)
    text = "\n".join(content_text(message) for message in mended)
    for message in messages:
        if message.role == "assistant":
            assert all(line in text for line in content_text(message).split("\n"))
    results = sum(message.role == "tool" for message in messages)
    told = sum(change.startswith("dropped orphan") for change in changes)
    moved = any("into the first user message" in change for change in changes)
    assert moved or sum(message.role == "tool" for message in mended) == results - told


@given(chats | anything, profiles)
def test_valid_messages_are_left_alone(messages: list[Message], profile: str) -> None:
    mended, _ = repair(messages, profile)
    again, changes = repair(mended, profile)
    assert all(one is two for one, two in zip(again, mended, strict=True))
    if is_valid(broken_rules(messages), profile):
        assert all(one is two for one, two in zip(mended, messages, strict=True))
        assert changes == []


def _kind(message: Message) -> str:
    return "system" if message.is_system else message.role
