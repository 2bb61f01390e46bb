import msgspec
import pytest
from hypothesis import given

from ctxbench.conversation.model import (
    Message,
    content_text,
    context_text,
    conversation_from_dict,
    conversation_to_dict,
    message_from_dict,
    message_texts,
    message_to_dict,
)
from tests.conversation.strategies import conversations, messages

CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "ü"}'}, "index": 0}
    ],
    "reasoning_content": "kept",
}


@given(messages)
def test_any_message_survives_its_json_form(message: Message) -> None:
    data = msgspec.json.encode(message_to_dict(message))
    assert message_from_dict(msgspec.json.decode(data)) == message


@given(conversations)
def test_any_conversation_survives_its_json_form(conversation: object) -> None:
    raw = conversation_to_dict(conversation)  # type: ignore[arg-type]
    assert conversation_from_dict(msgspec.json.decode(msgspec.json.encode(raw))) == conversation


def test_unknown_fields_survive_in_the_message_and_in_its_calls() -> None:
    assert message_to_dict(message_from_dict(CALL)) == CALL


def test_reading_does_not_change_the_raw_object() -> None:
    raw = {"role": "user", "content": "x", "extra_field": 1}
    message_from_dict(raw)
    assert raw == {"role": "user", "content": "x", "extra_field": 1}


def test_absent_content_and_null_calls_are_the_same_as_null_content_and_no_calls() -> None:
    assert message_from_dict({"role": "assistant", "tool_calls": None}) == Message("assistant", None)


def test_text_of_parts_leaves_images_out() -> None:
    parts: list[dict[str, object]] = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": "data:..."}},
        {"type": "text", "text": "b"},
    ]
    assert content_text(Message("user", parts)) == "a\nb"
    assert message_texts(Message("user", parts)) == ["user", "a", "b"]


def test_texts_are_role_content_call_names_and_arguments() -> None:
    message = message_from_dict(CALL)
    assert message_texts(message) == ["assistant", "find", '{"q": "ü"}']
    assert context_text([Message("user", "hi"), message]) == 'hi\nfind\n{"q": "ü"}'


@pytest.mark.parametrize(
    ("raw", "place"),
    [
        ({"role": 1, "content": "x"}, "$.role"),
        ({"role": "user", "content": 5}, "$.content"),
        ({"role": "user", "content": "x", "tool_calls": [{"id": "c"}]}, "$.tool_calls[0]"),
        ({"content": "x"}, "role"),
    ],
)
def test_a_wrong_field_is_named(raw: dict[str, object], place: str) -> None:
    with pytest.raises(msgspec.ValidationError, match=place.replace("$", r"\$").replace("[", r"\[")):
        message_from_dict(raw)
