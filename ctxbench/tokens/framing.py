"""What a provider's prompt has beyond the texts: markers around messages, and tool schemas.

A frame is a few special tokens a message, by role, and a few a request. The figures are
read off the formats: OpenAI's cookbook (3 a message and its role, 3 for the reply),
ChatML, the Llama 3 headers, Mistral's and DeepSeek's markers. Tool schemas are counted
as the JSON that is sent; how a provider rewrites them is not published.
"""

from collections.abc import Sequence

import msgspec

from ctxbench.conversation.model import Conversation, Message, message_texts
from ctxbench.tokens.tokenizers import Tokenizer


class Framing(msgspec.Struct, frozen=True):
    """Tokens around messages: `default` a message unless `by_role` says otherwise, `request` once."""

    name: str
    default: int
    request: int
    by_role: dict[str, int] = msgspec.field(default_factory=dict)

    def tokens(self, messages: Sequence[Message]) -> int:
        """Tokens of the frames of these messages and of the request."""
        return self.request + sum(self.by_role.get(message.role, self.default) for message in messages)


OPENAI = Framing("openai", default=4, request=3)
CHATML = Framing("chatml", default=5, request=3)
LLAMA3 = Framing("llama3", default=5, request=5)
MISTRAL = Framing("mistral", default=2, request=1, by_role={"assistant": 1})
DEEPSEEK = Framing("deepseek", default=1, request=2, by_role={"assistant": 2})

FRAMINGS = {
    "o200k_base": OPENAI,
    "cl100k_base": OPENAI,
    "qwen3.6": CHATML,
    "llama3": LLAMA3,
    "mistral_tekken": MISTRAL,
    "deepseek_v4": DEEPSEEK,
}
"""The framing of the models that use a tokenizer; others are taken as ChatML."""


def framing_of(tokenizer: str) -> Framing:
    """The framing that goes with a tokenizer's models."""
    return FRAMINGS.get(tokenizer, CHATML)


def schema_tokens(conversation: Conversation, tokenizer: Tokenizer) -> int:
    """Tokens of the tool schemas that every request of the conversation carries (`tools`, where recorded)."""
    tools = conversation.extra.get("tools")
    return tokenizer.count(msgspec.json.encode(tools).decode()) if tools else 0


def prompt_tokens(tokenizer: Tokenizer, messages: Sequence[Message], schemas: int = 0) -> int:
    """Tokens of a whole request: texts without their roles, frames, and tool schemas."""
    texts = [text for message in messages for text in message_texts(message)[1:]]
    return sum(tokenizer.count_batch(texts)) + framing_of(tokenizer.name).tokens(messages) + schemas
