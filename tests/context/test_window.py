from hypothesis import given
from hypothesis import strategies as st

from ctxbench.context.window import recent_start, split_system
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules, is_valid

USER = Message("user", "hi")


def call(*ids: str) -> Message:
    return Message("assistant", None, tool_calls=tuple(ToolCall(one, FunctionCall("f", "{}")) for one in ids))


def result(call_id: str) -> Message:
    return Message("tool", "ok", tool_call_id=call_id)


def test_without_tools_the_last_ones_are_recent() -> None:
    assert recent_start([USER] * 5, 2, pair_tools=True) == 3
    assert recent_start([USER] * 5, 9, pair_tools=True) == 0
    assert recent_start([USER] * 5, 0, pair_tools=True) == 5


def test_a_cut_between_parallel_results_moves_before_their_call() -> None:
    messages = [USER, call("a", "b"), result("a"), result("b"), USER]
    assert recent_start(messages, 2, pair_tools=True) == 1
    assert recent_start(messages, 2, pair_tools=False) == 3


def test_the_nearest_call_with_the_id_is_the_results_call() -> None:
    messages = [call("0"), result("0"), USER, call("0"), result("0")]
    assert recent_start(messages, 1, pair_tools=True) == 3


def test_results_that_come_in_when_the_cut_moves_bring_their_calls() -> None:
    messages = [USER, call("b"), call("a"), result("b"), result("a"), USER]
    assert recent_start(messages, 2, pair_tools=True) == 1


def test_an_orphan_moves_nothing() -> None:
    messages = [call("a"), result("a"), USER, result("lost"), USER]
    assert recent_start(messages, 2, pair_tools=True) == 3


def test_system_messages_are_told_apart_wherever_they_stand() -> None:
    system, policy = Message("system", "s"), Message("developer", "d")
    assert split_system([system, USER, policy]) == ([system, policy], [USER])


turns = st.lists(
    st.just([USER]) | st.integers(1, 3).map(lambda n: [call(*map(str, range(n))), *(result(str(i)) for i in range(n))]),
    max_size=8,
).map(lambda groups: [message for group in groups for message in group])


@given(turns, st.integers(0, 12))
def test_a_valid_conversation_stays_valid_and_no_more_is_kept_than_needed(messages: list[Message], n: int) -> None:
    start = recent_start(messages, n, pair_tools=True)
    assert is_valid(broken_rules(messages[start:]), "openai")
    assert start <= max(0, len(messages) - n)
    later = range(start + 1, max(0, len(messages) - n) + 1)
    assert not any(is_valid(broken_rules(messages[cut:]), "openai") for cut in later)
