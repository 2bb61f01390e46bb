"""importance: the messages that matter most by what they say, in their order.

A message scores for each token by what its words tell (names and numbers most), and
gains by marks of a rule or a decision, by a question that nobody has answered yet, by
being recent, and by what it shares with the latest user message.
"""

from collections.abc import Mapping, Sequence

from ctxbench.context.draft import Draft
from ctxbench.context.information import Information, rough
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.context.units import last_user
from ctxbench.conversation.model import Message, message_texts
from ctxbench.errors import unknown_name
from ctxbench.text.cues import cues
from ctxbench.tokens.estimators.base import Estimator

WEIGHTS = {"rule": 0.2, "decision": 0.1, "open_question": 0.3, "recent": 0.2, "similar": 0.3}
"""What a mark adds to a message's density, in units of the mean density."""


class Importance(BudgetStrategy):
    """Keeps units by score; `weights` change some of `WEIGHTS`."""

    def __init__(self, estimator: Estimator, weights: Mapping[str, float] | None = None) -> None:
        super().__init__(estimator)
        for name in weights or {}:
            if name not in WEIGHTS:
                raise unknown_name("strategy.weights", name, list(WEIGHTS))
        self.weights = WEIGHTS | dict(weights or {})

    def choose(self, draft: Draft) -> None:
        """Units from the highest score on; one that does not fit is passed over."""
        scores = self._scores(draft)
        for number in sorted(range(len(draft.units)), key=lambda one: -scores[one]):
            draft.add(draft.units[number])

    def _scores(self, draft: Draft) -> list[float]:
        texts = ["\n".join(message_texts(message)[1:]) for message in draft.messages]
        read = [rough(text) for text in texts]
        measure = Information(keys for keys, _ in read)
        latest = last_user(draft.messages)
        asked = measure.bits(read[latest][1]) if latest is not None else {}
        all_asked = max(1.0, sum(asked.values()))
        replied = _last_reply(draft.messages)
        densities, marks = [], []
        for number, unit in enumerate(draft.units):
            bits: dict[str, float] = {}
            for index in unit:
                bits |= measure.bits(read[index][1])
            densities.append(sum(bits.values()) / max(1, draft.size(unit)))
            is_open = replied[draft.messages[unit[0]].role] < unit[-1]
            rule, decision, question = (any(found) for found in zip(*(cues(texts[i]) for i in unit), strict=True))
            shared = sum(asked[key] for key in asked.keys() & bits.keys()) / all_asked
            recent = (number + 1) / len(draft.units)
            marks.append(self._mark(rule, decision, question and is_open, recent, shared))
        mean = sum(densities) / max(1, len(densities))
        return [density + mean * mark for density, mark in zip(densities, marks, strict=True)]

    def _mark(self, rule: bool, decision: bool, open_question: bool, recent: float, similar: float) -> float:
        values = (rule, decision, open_question, recent, similar)
        return sum(self.weights[name] * value for name, value in zip(WEIGHTS, values, strict=True))


def _last_reply(messages: Sequence[Message]) -> dict[str, int]:
    """For each role, the last message of another one; a tool's is no reply."""
    last = {message.role: index for index, message in enumerate(messages) if message.role != "tool"}
    roles = {message.role for message in messages}
    return {role: max((index for other, index in last.items() if other != role), default=-1) for role in roles}
