"""llm: a language model writes the summary. The prompt and its language are settings."""

from collections.abc import Sequence

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.summarizers.base import transcript
from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ChatModel
from ctxbench.text.languages import english_name
from ctxbench.text.sentences import split_sentences

TEMPERATURE = 0.3
"""The original module's."""


class LlmSummarizer:
    """Asks `model` with `prompt`, in which `{language}` stands for the summary's language.

    `language` is a BCP 47 tag; None leaves the choice to the model. `tool_calls=False`
    shows the model the transcript as the original module does, without tool calls.
    """

    def __init__(self, model: ChatModel, prompt: str, *, language: str | None = None, tool_calls: bool = True) -> None:
        self.model = model
        try:
            self.lead_in = prompt.format(
                language=english_name(language) if language else "the language of the conversation"
            )
        except (KeyError, IndexError, ValueError):
            raise CtxbenchError("summarizer.prompt: {language} is the only field; write {{ and }} for braces") from None
        self.tool_calls = tool_calls

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str | None:
        """The model's text; one that ran into `max_tokens` is cut back to its last whole sentence."""
        prompt = self.lead_in + transcript(messages, tool_calls=self.tool_calls)
        reply = self.model.complete(
            [Message("user", prompt)], purpose="summary", temperature=TEMPERATURE, max_tokens=max_tokens
        )
        if reply is None or reply.text is None:
            return None
        if reply.finish_reason != "length":
            return reply.text.strip()
        whole = split_sentences(reply.text)[:-1]
        if not whole:
            raise CompressionFailed("truncated", f"no sentence ended within {max_tokens} tokens")
        return reply.text[: reply.text.rindex(whole[-1]) + len(whole[-1])].strip()
