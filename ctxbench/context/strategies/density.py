"""density: the sentences, or the messages, that tell most for each token, in their order.

What a word tells is `information`'s matter. A word that stands already in what is kept
counts little, so that the budget goes to what is new. Long sentences are chosen by
clause. What is left of a message keeps its role; a tool call is kept with its results,
which may be shortened, and never without them.
"""

from collections.abc import Iterator
from typing import Literal

from ctxbench.context.draft import Draft
from ctxbench.context.information import Information, Weighted, keys, weighted
from ctxbench.context.selection import Piece, most_telling
from ctxbench.context.shortening import Span, frames, shortened
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.conversation.model import Message, content_text, message_texts
from ctxbench.errors import unknown_name
from ctxbench.text.words import pieces
from ctxbench.tokens.estimators.base import Estimator


class Density(BudgetStrategy):
    """Keeps pieces, `by` sentence or message, most bits a token first."""

    def __init__(self, estimator: Estimator, by: Literal["sentence", "message"] = "sentence") -> None:
        super().__init__(estimator)
        if by not in ("sentence", "message"):
            raise unknown_name("strategy.by", by, ["sentence", "message"])
        self.by = by

    def choose(self, draft: Draft) -> None:
        """Pieces until no more fits; joined, they may be a little longer than one by one."""
        measure = Information(keys(text) for message in draft.messages for text in message_texts(message)[1:])
        units = frames(draft)
        found = [
            (index, span, Piece(number, size, measure.bits(some)))
            for number in units
            for index in draft.units[number]
            for span, size, some in self._pieces(draft, draft.messages[index])
        ]
        chosen = most_telling([piece for *_, piece in found], units, draft.room)
        while chosen:
            spans: dict[int, list[Span]] = {}
            for index, span, _ in (found[place] for place in chosen):
                spans.setdefault(index, []).append(span)
            shown = shortened(draft, {found[place][2].unit for place in chosen}, spans)
            if draft.put(shown):
                return
            del chosen[-max(1, len(chosen) // 50) :]

    def _pieces(self, draft: Draft, message: Message) -> Iterator[tuple[Span, int, Weighted]]:
        """Where the message's pieces stand, their sizes and words; the calls' size is in the unit's frame."""
        text = content_text(message)
        whole = self.by == "message" or not isinstance(message.content, str)
        for start, end in [(0, len(text))] if whole else pieces(text):
            yield (start, end), draft.meter.text_size(text[start:end]), weighted(text, start, end)
        for call in message.tool_calls:
            yield (0, 0), 0, weighted(call.function.arguments)
