from collections.abc import Sequence

import pytest
from omegaconf import OmegaConf

from ctxbench.conversation.model import FunctionCall, Message, ToolCall, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError, Purpose, Reply
from ctxbench.scoring.answered import UNKNOWN
from ctxbench.scoring.readers import LlmReader
from tests.conftest import ROOT

PROMPT = "Read:\n{context}\nQuestion: {question}"


class Answers:
    name = "answers"

    def __init__(self, text: str | None, max_tokens: int = 64) -> None:
        self.text, self.max_tokens = text, max_tokens
        self.prompts: list[str] = []

    def complete(self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int) -> Reply:
        assert (purpose, temperature, max_tokens) == ("reader", 0.0, self.max_tokens)
        assert [message.role for message in messages] == ["user"]
        self.prompts.append(content_text(messages[0]))
        return Reply(self.text, "stop", 10, 5)


class Fails:
    name = "fails"

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        raise ModelError("model fails: HTTP 500")


class Silent:
    name = "silent"

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        return None


def test_the_prompt_holds_the_context_and_then_the_question() -> None:
    model = Answers(" HX-48213\n", max_tokens=20)
    call = ToolCall("c1", FunctionCall("find", '{"q": 1}'))
    context = [Message("system", "Be {brief}."), Message("assistant", None, tool_calls=(call,))]
    assert LlmReader(model, PROMPT, max_tokens=20).answer(context, "Which {order}?") == "HX-48213"
    assert model.prompts == [
        'Read:\n[system] Be {brief}.\n\n[assistant] find({"q": 1})\n\nQuestion: Which {order}?',
    ]


def test_questions_about_one_context_share_the_prefix() -> None:
    model = Answers("x")
    reader = LlmReader(model, PROMPT)
    for question in ("A?", "B?"):
        reader.answer([Message("user", "hi")], question)
    assert [prompt[:-2] for prompt in model.prompts] == ["Read:\n[user] hi\n\nQuestion: "] * 2


def test_no_text_is_no_answer() -> None:
    assert LlmReader(Answers(None), PROMPT).answer([], "?") is None
    assert LlmReader(Silent(), PROMPT).answer([], "?") is None


def test_a_failed_request_is_the_callers() -> None:
    with pytest.raises(ModelError, match="HTTP 500"):
        LlmReader(Fails(), PROMPT).answer([], "?")


@pytest.mark.parametrize(
    "prompt",
    [
        "{context}",
        "{question}",
        "{context} {question} {language}",
        "{context} {question} {}",
        "{context} {question} {",
        "{context!r} {question}",
        "{context:{width}} {question}",
        "{context.role} {question}",
    ],
)
def test_a_prompt_without_both_fields_or_with_others_is_refused(prompt: str) -> None:
    with pytest.raises(CtxbenchError, match=r"^reader.prompt: {context} and {question} must stand in it.*$"):
        LlmReader(Answers("x"), prompt)


def test_braces_can_be_written() -> None:
    model = Answers("x")
    LlmReader(model, '{context}{question} as {{"answer": ...}}').answer([], "A?")
    assert model.prompts == ['A? as {"answer": ...}']


def test_the_prompt_that_comes_along_can_be_used() -> None:
    config = OmegaConf.load(ROOT / "configs" / "reader" / "llm.yaml")
    model = Answers("x", config.max_tokens)
    LlmReader(model, config.prompt, config.max_tokens).answer([Message("user", "hi")], "Which order?")
    assert UNKNOWN in model.prompts[0]
    assert model.prompts[0].index("[user] hi") < model.prompts[0].index("Which order?")
