"""What a dataset holds, counted: the figures of its datasheet."""

from collections import Counter
from collections.abc import Iterable

import msgspec

from ctxbench.conversation.model import Conversation
from ctxbench.tokens.tokenizers import Tokenizer, count_messages


class Counts(msgspec.Struct):
    """Counts of a group of conversations; tokens as `count_messages` has them."""

    conversations: int = 0
    messages: int = 0
    tokens: int = 0
    probes: int = 0
    with_tool_calls: int = 0

    def add(self, conversation: Conversation, tokens: int) -> None:
        """Count one conversation more."""
        self.conversations += 1
        self.messages += len(conversation.messages)
        self.tokens += tokens
        self.probes += len(conversation.probes)
        self.with_tool_calls += any(message.tool_calls for message in conversation.messages)


def datasheet(conversations: Iterable[Conversation], tokenizer: Tokenizer) -> str:
    """Two Markdown tables: by language, and probes by category."""
    by_language: dict[str, Counts] = {}
    total = Counts()
    categories: Counter[str] = Counter()
    for conversation in conversations:
        tokens = count_messages(tokenizer, conversation.messages)
        for counts in (by_language.setdefault(conversation.language, Counts()), total):
            counts.add(conversation, tokens)
        categories.update(probe.category for probe in conversation.probes)
    lines = [
        f"| language | conversations | messages | tokens ({tokenizer.name}) | probes | with tool calls |",
        "|---|--:|--:|--:|--:|--:|",
        *(_row(language, counts) for language, counts in sorted(by_language.items())),
        _row("all", total),
        "",
        "| probes of category | " + " | ".join(sorted(categories)) + " |",
        "|---|" + "--:|" * len(categories),
        "| count | " + " | ".join(f"{categories[name]:,}" for name in sorted(categories)) + " |",
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, counts: Counts) -> str:
    share = f"{counts.with_tool_calls} ({counts.with_tool_calls / counts.conversations:.0%})"
    cells = (counts.conversations, counts.messages, counts.tokens, counts.probes)
    return f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + f" | {share} |"
