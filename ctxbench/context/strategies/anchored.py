"""anchored: a summary, and below it an exact list of identifiers, numbers, dates and rules.

A summary may round a number or lose an identifier; the list has them word for word, and of
a value that was corrected only the newest. What is such a clause is `anchors`' matter.
"""

from collections.abc import Sequence
from typing import Unpack

from ctxbench.context.anchors import Anchor, anchors, as_lines
from ctxbench.context.draft import Meter
from ctxbench.context.information import Information, keys, weighted
from ctxbench.context.selection import Piece, most_telling
from ctxbench.context.strategies.summarised import LEAST_TOKENS, SummarySettings, SummaryStrategy
from ctxbench.context.summarizers.base import SUMMARY, Summarizer
from ctxbench.conversation.model import Message, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import Estimator

LIST = "\nExact values and rules:\n"


class Anchored(SummaryStrategy):
    """`anchor_share` (0 to 1) is the list's part of the summary's room; most telling clauses first."""

    def __init__(
        self, estimator: Estimator, summarizer: Summarizer, anchor_share: float = 0.6, **shared: Unpack[SummarySettings]
    ) -> None:
        super().__init__(estimator, summarizer, **shared)
        if not 0 <= anchor_share <= 1:
            raise CtxbenchError(f"strategy.anchor_share is {anchor_share}; give a share from 0 to 1")
        self.anchor_share = anchor_share

    def write(self, old: Sequence[Message], max_tokens: int) -> str:
        """The summary, then the list; either of them alone where there is room for one only."""
        told, listed = [], []
        for message in old:
            summary, _, lines = content_text(message).partition(LIST) if message.role == SUMMARY else ("", "", "")
            told.append(Message(SUMMARY, summary) if message.role == SUMMARY else message)
            listed += [Message(SUMMARY, line.removeprefix("- ")) for line in lines.splitlines()]
        listed += [message for message in old if message.role != SUMMARY]
        room = max_tokens - self.estimate_tokens([Message("", LIST)]) - 1
        facts = self._chosen(anchors(listed), int(self.anchor_share * room))
        left = room - self.estimate_tokens([Message("", facts)])
        if left < LEAST_TOKENS:
            return LIST.lstrip() + facts
        text = self.summarise(told, left)
        return text + LIST + facts if facts else text

    def _chosen(self, found: Sequence[Anchor], max_tokens: int) -> str:
        meter = Meter(self.estimator)
        measure = Information(keys(anchor.text) for anchor in found)
        candidates = [
            Piece(number, meter.text_size(f"- {anchor.text}\n") + 1, measure.bits(weighted(anchor.text)))
            for number, anchor in enumerate(found)
        ]
        chosen = most_telling(candidates, dict.fromkeys(range(len(found)), 0), meter.capacity(max(0, max_tokens)))
        return as_lines([found[number] for number in sorted(chosen)])
