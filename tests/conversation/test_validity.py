from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.conversation.validity import broken_rules, orphan_tool_result, unanswered_tool_call


def call(*ids: str) -> Message:
    return Message("assistant", None, tool_calls=tuple(ToolCall(one, FunctionCall("f", "{}")) for one in ids))


def result(call_id: str) -> Message:
    return Message("tool", "ok", tool_call_id=call_id)


USER = Message("user", "hi")


def test_parallel_calls_with_all_results_are_valid_in_any_order() -> None:
    assert broken_rules([USER, call("a", "b"), result("b"), result("a"), Message("assistant", "done")]) == []


def test_a_result_without_its_call_is_an_orphan() -> None:
    assert orphan_tool_result([result("a"), USER, call("b"), result("b"), result("b")]) == [0, 4]


def test_a_call_without_all_its_results_is_unanswered() -> None:
    assert unanswered_tool_call([call("a", "b"), result("a"), USER, call("c")]) == [0, 3]


def test_a_result_that_comes_after_another_message_is_both() -> None:
    assert broken_rules([call("a"), USER, result("a")]) == ["orphan_tool_result", "unanswered_tool_call"]


def test_an_assistant_message_says_or_calls_something() -> None:
    assert broken_rules([USER, Message("assistant", "")]) == ["empty_assistant"]
