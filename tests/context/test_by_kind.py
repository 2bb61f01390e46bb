"""Which summarizer is asked, and on the command line which prompt is sent."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ctxbench.context.summarizers.by_kind import SummarizerByKind, kind_of_talk
from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import FunctionCall, Message, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.tasks.retention import settings_shown
from tests.conftest import chat
from tests.context.test_manager import Writes
from tests.models.test_openai import GOOD, serve
from tests.test_cli import Run, folder_of, run

__all__ = ["run", "serve"]  # fixtures

TALK = chat(*["Nothing but talk about gardens."] * 8, system=None)
CODE = Message("user", "Look:\n```python\nprint(1)\n```\nWhat does it print?")
BARE = Message("user", "import os\ndef main():\n    return 1\n")
LOG = Message("tool", "\n".join(f"2025-05-12 14:02:1{i} INFO started" for i in range(4)), tool_call_id="1")
JSON = Message("user", '{"retries": 3, "hosts": ["a", "b"]}')
RESULT = Message("tool", '{"rows": [{"n": 3}]}', tool_call_id="1")
CALL = Message("assistant", None, tool_calls=(ToolCall("1", FunctionCall("find", "{}")),))


@pytest.mark.parametrize(
    ("messages", "kind"),
    [
        ([], "talk"),
        (TALK, "talk"),
        ([*TALK, CODE], "technical"),
        ([*TALK, BARE], "technical"),
        ([*TALK, LOG], "technical"),
        ([*TALK, JSON], "technical"),
        ([*TALK, *TALK, CODE], "talk"),  # one of 17
        ([*TALK, CALL], "talk"),
        ([*TALK, RESULT], "talk"),
        ([*TALK, CALL, RESULT], "tools"),  # two of ten
        ([*TALK, CALL, RESULT, CODE, CODE], "technical"),
    ],
)
def test_kinds(messages: list[Message], kind: str) -> None:
    assert kind_of_talk(messages) == kind
    known = {name: Writes(name) for name in ("technical", "tools")}
    assert SummarizerByKind(known, Writes("talk")).summarize(messages, 9) == kind


def test_kinds_of_the_bundled_conversations() -> None:
    kinds = {"code": "technical", "migration": "technical", "agent": "tools", "support": "tools"}
    for conversation in load_dataset("core").conversations:
        talk = [message for message in conversation.messages if not message.is_system]
        assert kind_of_talk(talk) == kinds.get(conversation.scenario, "talk"), conversation.id


def test_a_kind_without_a_summarizer_has_the_default_one() -> None:
    summarizer = SummarizerByKind({}, Writes("default"))
    assert summarizer.summarize([CODE], 9) == "default"
    with pytest.raises(CtxbenchError, match="unknown kind of conversation 'poetry'; known: talk, technical, tools"):
        SummarizerByKind({"poetry": Writes("x")}, Writes("default"))


MARKS = {"code-en": "shelfscan", "support-en": "Imogen Hartley", "travel-en": "four from Leeds"}
"""What is said at the beginning of a conversation, and so stands in every prompt about it."""
PROMPTS = {
    "technical": "Summarise the technical work below",
    "tools": "with the same tools",
    "talk": "for somebody who has to continue it",
    "support": "Summarise the support case below",
}


def prompts_of(run: Run, serve: Any, *settings: str) -> tuple[set[tuple[str, str]], str]:
    """Pairs of prompt and conversation in what a run sends to the model, and what the run printed."""
    server = serve((200, GOOD))
    chosen = [one for one in load_dataset("core").conversations if one.id in MARKS]
    write_conversations(Path("x.jsonl"), [msgspec.structs.replace(one, probes=[]) for one in chosen])
    model = ("llm=openai", "llm.api_key_env=null", f"llm.base_url={server.url}", "budget=0.3", "dataset.path=x.jsonl")
    code, out, _ = run("summarizer=llm_by_kind", *model, *settings)
    assert code == 0
    sent = [request["messages"][0]["content"] for request in server.requests]
    assert all("in English." in prompt for prompt in sent)
    return {
        (name, conversation)
        for prompt in sent
        for name, words in PROMPTS.items()
        for conversation, mark in MARKS.items()
        if words in prompt and mark in prompt
    }, out


def test_each_conversation_is_summarised_with_the_prompt_for_its_kind(run: Run, serve: Any) -> None:
    sent, out = prompts_of(run, serve)
    assert sent >= {("technical", "code-en"), ("tools", "support-en"), ("talk", "travel-en")}
    assert {conversation for name, conversation in sent if name == "technical"} == {"code-en"}
    assert {conversation for name, conversation in sent if name == "tools"} == {"support-en"}
    code, _, err = run("show", str(folder_of(out)), "--conversation", "travel-en")
    assert code == 0
    assert "it writes the summary again" in err


def test_another_prompt_for_all_other_talk(run: Run, serve: Any) -> None:
    sent, _ = prompts_of(run, serve, "summarizer@summarizer.default=llm_support", "dataset.limit=3")
    assert ("support", "travel-en") in sent
    assert "talk" not in {name for name, _ in sent}


def test_the_model_of_nested_summarizers_is_told() -> None:
    llm = {"model": {"model": "m"}}
    config = {"strategy": {"summarizer": {}}, "llm": {"model": "m"}}
    choices = {"strategy": "smart", "summarizer": "s", "llm": "openai", "estimator": "e", "tokenizer": "t"}
    for summarizer, model in (({"default": llm, "summarizers": {}}, "m (openai)"), (llm, "m (openai)"), ({}, None)):
        described = {"choices": choices, "config": {**config, "summarizer": summarizer}, "dataset": {"name": "d"}}
        assert settings_shown(described).get("model") == model
