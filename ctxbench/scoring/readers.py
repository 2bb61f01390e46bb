"""llm: a language model answers a probe's question from a context.

One question a prompt, so that no answer helps another. The prompt and its words are a
setting; how good the answer is, is told in `answered`.
"""

from collections.abc import Collection, Sequence
from string import Formatter

from ctxbench.context.summarizers.base import transcript
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ChatModel

FIELDS = ("context", "question")


class LlmReader:
    """Asks `model` with `prompt`, in which `{context}` and `{question}` stand for the two.

    Put the question after the context: the questions about one context then share a
    prefix, which providers cache. `max_tokens` is the room for an answer.
    """

    def __init__(self, model: ChatModel, prompt: str, max_tokens: int = 64) -> None:
        self.model = model
        self.prompt = checked_prompt("reader.prompt", prompt, FIELDS)
        self.max_tokens = max_tokens

    def answer(self, messages: Sequence[Message], question: str) -> str | None:
        """The model's answer; None when it gave none.

        Raises:
            ModelError: the request failed. ModelUnavailable: every request would.
        """
        prompt = self.prompt.format(context=transcript(messages), question=question)
        reply = self.model.complete(
            [Message("user", prompt)], purpose="reader", temperature=0.0, max_tokens=self.max_tokens
        )
        return None if reply is None or reply.text is None else reply.text.strip()


def checked_prompt(setting: str, prompt: str, fields: Collection[str]) -> str:
    """The prompt, if it has all of `fields` and no other; `setting` is how an error calls it."""
    try:
        parts = list(Formatter().parse(prompt))
    except ValueError:
        parts = []  # a brace of its own: no field is found
    named = {name for _, name, _, _ in parts if name is not None}
    plain = not any(layout or conversion for _, _, layout, conversion in parts)
    if named != set(fields) or not plain:
        wanted = " and ".join(f"{{{field}}}" for field in fields)
        raise CtxbenchError(f"{setting}: {wanted} must stand in it, and no other field; write {{{{ and }}}} for braces")
    return prompt
