"""The profile `mistral` before a real judge: the validator and the chat template of `mistral_common`.

The judge joins turns of one speaker and takes several system messages, so that it does not
check two rules, which only the older published templates do; all others it does.
"""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2 import TemplateError
from mistral_common.exceptions import MistralCommonException
from mistral_common.integrations.chat_templates.template_generator import TemplateConfig, build_chat_template
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import FunctionCall, Json, Message, ToolCall, message_to_dict
from ctxbench.conversation.repair import repair
from ctxbench.conversation.validity import PROFILES, RULES, broken_rules, is_valid
from ctxbench.resources import datasets_folder

RENDERER = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.BPE()))  # type: ignore[no-untyped-call]
VALIDATOR = get_validator(TokenizerVersion.v13, ValidationMode.agnostic)
TEMPLATE = build_chat_template(TemplateConfig(version=TokenizerVersion.v13))
NOT_CHECKED = {"system_not_first", "repeated_turn_outside_tools"}


def refusal(messages: Sequence[Message]) -> str | None:
    """What the validator or the template says against messages; None when both take them."""
    raw = [as_sent(message) for message in messages]
    try:
        VALIDATOR.validate_messages(ChatCompletionRequest.from_openai(messages=raw).messages)
        RENDERER.apply_chat_template(raw, chat_template=TEMPLATE, tokenize=False)
    except (MistralCommonException, TemplateError) as error:
        return str(error)
    return None


def as_sent(message: Message) -> Json:
    return message_to_dict(message) | {"role": "system" if message.is_system else message.role}


def call(*ids: str, text: str = "") -> Message:
    return Message("assistant", text, tool_calls=tuple(ToolCall(one, FunctionCall("look", "{}")) for one in ids))


def result(call_id: str) -> Message:
    return Message("tool", "ok", name="look", tool_call_id=call_id)


USER, ASSISTANT, SYSTEM = Message("user", "hi"), Message("assistant", "hello"), Message("system", "be kind")


@pytest.mark.parametrize(
    "messages",
    [
        [SYSTEM],
        [USER],
        [Message("developer", "be kind"), USER, ASSISTANT, USER],
        [SYSTEM, USER, call("a", "b"), result("b"), result("a"), ASSISTANT, USER],
        [USER, call("a", text="I look."), result("a"), call("b"), result("b"), ASSISTANT],
        [USER, ASSISTANT, call("a"), result("a"), USER],
    ],
)
def test_valid_messages_are_taken(messages: list[Message]) -> None:
    assert is_valid(broken_rules(messages), "mistral")
    assert refusal(messages) is None


REFUSED: dict[str, tuple[list[Message], str]] = {
    "orphan_tool_result": ([USER, result("a"), ASSISTANT], "Unexpected role 'tool' after role 'user'"),
    "unanswered_tool_call": ([USER, call("a"), ASSISTANT], "Not the same number of function calls and responses"),
    "empty_assistant": ([USER, Message("assistant", ""), USER], "must have a string or a list of chunks"),
    "late_system": ([USER, ASSISTANT, SYSTEM], "Unexpected role 'system' after role 'assistant'"),
    "first_not_user": ([ASSISTANT, USER], "must start with a user or system message"),
}


@pytest.mark.parametrize("rule", REFUSED)
def test_a_broken_rule_is_refused(rule: str) -> None:
    messages, reason = REFUSED[rule]
    assert RULES[rule](messages)
    assert reason in (refusal(messages) or "")


def test_every_rule_of_the_profile_is_before_the_judge_or_known_not_to_be() -> None:
    assert set(PROFILES["mistral"]) == (set(REFUSED) - {"late_system"}) | NOT_CHECKED
    for messages in ([SYSTEM, SYSTEM, USER], [USER, USER]):
        assert NOT_CHECKED & set(broken_rules(messages))
        assert refusal(messages) is None


texts = st.text("ab \n", min_size=1, max_size=4)
said = st.builds(Message, st.sampled_from(["system", "developer", "user", "assistant"]), texts).map(lambda one: [one])
ids = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3, unique=True)
tool_turn = ids.flatmap(lambda chosen: st.permutations([call(*chosen), *map(result, chosen)]) | whole_turn(chosen))
chats = st.lists(said | tool_turn, max_size=8).map(lambda groups: [one for group in groups for one in group])


def whole_turn(chosen: list[str]) -> st.SearchStrategy[list[Message]]:
    return st.just([call(*chosen), *map(result, chosen)])


@given(chats)
def test_what_the_profile_calls_valid_is_taken_and_so_is_what_is_mended(messages: list[Message]) -> None:
    if messages and is_valid(broken_rules(messages), "mistral"):
        assert refusal(messages) is None
    mended, _ = repair(messages, "mistral")
    if mended and is_valid(broken_rules(mended), "mistral"):
        assert refusal(mended) is None


def test_bundled_conversations_are_taken_once_mended() -> None:
    for conversation in load_dataset(str(datasets_folder() / "core")).conversations:
        mended, _ = repair(conversation.messages, "mistral")
        assert refusal(mended) is None, conversation.id
