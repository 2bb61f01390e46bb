import pytest

from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import (
    PROFILES,
    RULES,
    broken_rules,
    is_valid,
    orphan_tool_result,
    unanswered_tool_call,
)
from ctxbench.errors import CtxbenchError


def call(*ids: str) -> Message:
    return Message("assistant", None, tool_calls=tuple(ToolCall(one, FunctionCall("f", "{}")) for one in ids))


def result(call_id: str) -> Message:
    return Message("tool", "ok", tool_call_id=call_id)


USER, ASSISTANT, SYSTEM = Message("user", "hi"), Message("assistant", "hello"), Message("system", "be kind")
DEVELOPER = Message("developer", "be brief")
TURN = [call("a"), result("a")]


def test_parallel_calls_with_all_results_are_valid_in_any_order() -> None:
    assert broken_rules([USER, call("a", "b"), result("b"), result("a"), Message("assistant", "done")]) == []


def test_a_result_without_its_call_is_an_orphan() -> None:
    assert orphan_tool_result([result("a"), USER, call("b"), result("b"), result("b")]) == [0, 4]


def test_a_call_without_all_its_results_is_unanswered() -> None:
    assert unanswered_tool_call([call("a", "b"), result("a"), USER, call("c")]) == [0, 3]


def test_a_result_that_comes_after_another_message_is_both() -> None:
    assert broken_rules([USER, call("a"), USER, result("a")])[:2] == ["orphan_tool_result", "unanswered_tool_call"]


def test_an_assistant_message_says_or_calls_something() -> None:
    assert broken_rules([USER, Message("assistant", "")]) == ["empty_assistant"]


@pytest.mark.parametrize(
    ("rule", "messages", "indices"),
    [
        ("late_system", [SYSTEM, DEVELOPER, USER, SYSTEM, ASSISTANT, DEVELOPER], [3, 5]),
        ("late_system", [SYSTEM, SYSTEM], []),
        ("system_not_first", [SYSTEM, DEVELOPER, USER, SYSTEM], [1, 3]),
        ("system_not_first", [USER, SYSTEM], [1]),
        ("first_not_user", [SYSTEM, ASSISTANT, USER], [1]),
        ("first_not_user", [result("a"), USER], [0]),
        ("first_not_user", [SYSTEM, SYSTEM], []),
        ("first_not_user", [], []),
        ("repeated_turn", [USER, *TURN, USER, ASSISTANT], []),
        ("repeated_turn", [USER, call("a", "b"), result("a"), result("b"), ASSISTANT], []),
        ("repeated_turn", [USER, *TURN, USER, USER], [4]),
        ("repeated_turn", [USER, ASSISTANT, *TURN, ASSISTANT], [2]),
        ("repeated_turn", [USER, SYSTEM, USER], [2]),
        ("repeated_turn", [Message("narrator", "a"), USER, Message("narrator", "b")], []),
        ("repeated_turn", [Message("narrator", "a"), Message("narrator", "b")], [1]),
        ("repeated_turn_outside_tools", [USER, *TURN, *TURN, ASSISTANT, USER], []),
        ("repeated_turn_outside_tools", [USER, *TURN, USER], [3]),
        ("repeated_turn_outside_tools", [USER, ASSISTANT, *TURN, ASSISTANT], [4]),
        ("repeated_turn_outside_tools", [USER, ASSISTANT, *TURN, USER], []),
        ("no_user_message", [SYSTEM, ASSISTANT], [0]),
        ("no_user_message", [], [0]),
        ("no_user_message", [ASSISTANT, USER], []),
    ],
)
def test_a_rule_tells_where_it_is_broken(rule: str, messages: list[Message], indices: list[int]) -> None:
    assert RULES[rule](messages) == indices


@pytest.mark.parametrize(
    ("messages", "valid"),
    [
        ([SYSTEM, USER, ASSISTANT, USER], "openai anthropic mistral qwen"),
        ([SYSTEM, USER, *TURN, ASSISTANT, USER], "openai anthropic mistral qwen"),
        ([SYSTEM, SYSTEM, USER], "openai anthropic"),  # a summary after the system prompt
        ([SYSTEM, USER, SYSTEM, ASSISTANT], "openai"),
        ([SYSTEM, ASSISTANT, USER], "openai qwen"),  # a window that begins with an answer
        ([USER, USER, ASSISTANT], "openai qwen"),
        ([USER, *TURN, USER, ASSISTANT], "openai anthropic qwen"),
        ([USER, ASSISTANT, *TURN], "openai mistral qwen"),
        ([USER, result("a"), ASSISTANT], "qwen"),
        ([USER, call("a")], "qwen"),
        ([USER, Message("assistant", [])], "qwen"),
        ([SYSTEM, *TURN], "openai"),
    ],
)
def test_each_provider_has_its_own_profile(messages: list[Message], valid: str) -> None:
    broken = broken_rules(messages)
    assert [profile for profile in PROFILES if is_valid(broken, profile)] == valid.split()


def test_every_rule_is_demanded_by_somebody() -> None:
    assert {name for rules in PROFILES.values() for name in rules} == set(RULES)


def test_an_unknown_profile_is_told() -> None:
    with pytest.raises(CtxbenchError, match="unknown profile 'claude'; known: anthropic, mistral, openai, qwen"):
        is_valid([], "claude")
