"""mask_tools: the outputs of old tool calls give way to a short marker; the calls stay.

What a tool said is often long and soon used up, while that it was called still matters.
Where masking is not enough, the oldest turns go, as in `token_window`.
"""

from collections.abc import Sequence

import msgspec

from ctxbench.context.draft import Meter
from ctxbench.context.strategies.base import EstimatorStrategy
from ctxbench.context.strategies.token_window import TokenWindow
from ctxbench.context.window import check_count
from ctxbench.conversation.model import Message, content_text
from ctxbench.tokens.estimators.base import Estimator

MARKED = "[tool output removed: "


class MaskTools(EstimatorStrategy):
    """Masks tool results from the oldest on until the budget is kept, all but the `recent_results` newest."""

    def __init__(self, estimator: Estimator, recent_results: int = 2) -> None:
        super().__init__(estimator)
        self.recent_results = check_count("strategy.recent_results", recent_results)
        self._window = TokenWindow(estimator)

    def compress(self, messages: Sequence[Message], max_tokens: int, *, session_id: str | None = None) -> list[Message]:
        """All messages, old outputs masked, and no more turns than fit; raises `CannotFit`."""
        meter = Meter(self.estimator)
        size = meter.size(messages)
        masked = list(messages)
        results = [index for index, message in enumerate(messages) if message.role == "tool"]
        for index in results[: max(0, len(results) - self.recent_results)]:
            if meter.tokens(size) <= max_tokens:
                break
            marker = _masked(messages[index])
            saved = meter.size([messages[index]]) - meter.size([marker])
            if saved > 0:
                masked[index] = marker
                size -= saved
        return self._window.compress(masked, max_tokens)


def _masked(message: Message) -> Message:
    text = content_text(message)
    if text.startswith(MARKED):
        return message
    return msgspec.structs.replace(message, content=f"{MARKED}{len(text)} characters]")
