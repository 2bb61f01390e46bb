"""prune_words: drops the words that carry least, and keeps the others of all messages.

What is left reads like a telegram: names, numbers and rare words, with the short words
between two of them. A word counts more beside words that tell much, and little once it
was said before. Tool calls are kept whole where anything of them or of their results is.
"""

from collections.abc import Sequence

from ctxbench.context.draft import Draft
from ctxbench.context.information import SAID_AGAIN, Information, keys
from ctxbench.context.shortening import Span, frames, shortened
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.conversation.model import Message, content_text, message_texts
from ctxbench.text.words import words

BESIDE = 0.5
"""Share of a neighbour's worth that a word gets."""
BRIDGE = 3
"""Characters of a word that stays because both its neighbours do."""


class Candidates:
    """All words that may stay, in the order of the conversation: a column for each thing known of them."""

    def __init__(self, draft: Draft) -> None:
        self.worth: list[float] = []
        self.size: list[int] = []
        self.unit: list[int] = []
        self.message: list[int] = []
        self.place: list[int] = []
        measure = Information(keys(text) for message in draft.messages for text in message_texts(message)[1:])
        said: set[str] = set()
        sizes: dict[str, int] = {}
        for number, unit in enumerate(draft.units):
            for index in [] if draft.has(unit) else unit:
                text = content_text(draft.messages[index])
                here = words(text)
                own = []
                for word in here:
                    own.append(measure.of(word) * (SAID_AGAIN if word.key in said else 1.0))
                    said.add(word.key)
                    if word.key not in sizes:
                        sizes[word.key] = max(1, draft.meter.text_size(f" {text[word.start : word.end]}"))
                self.size += [sizes[word.key] for word in here]
                beside = map(max, [0.0, *own], [*own[1:], 0.0])
                self.worth += [mine + BESIDE * most for mine, most in zip(own, beside, strict=False)]
                self.unit += [number] * len(here)
                self.message += [index] * len(here)
                self.place += range(len(here))

    def best_first(self) -> list[int]:
        """Their numbers, by worth for the root of the size: between by itself and for each token."""
        import numpy as np

        return [int(one) for one in np.argsort(-np.array(self.worth) / np.sqrt(self.size), kind="stable")]


class PruneWords(BudgetStrategy):
    """Keeps the words most worth their size."""

    def choose(self, draft: Draft) -> None:
        """As many words as fit; joined, they may be longer than one by one."""
        words_of = Candidates(draft)
        ranked = words_of.best_first()
        count = _affordable(draft, words_of, ranked)
        while count > 0:
            places: dict[int, set[int]] = {}
            for one in ranked[:count]:
                places.setdefault(words_of.message[one], set()).add(words_of.place[one])
            spans = {index: _spans(draft.messages[index], kept) for index, kept in places.items()}
            shown = shortened(draft, {words_of.unit[one] for one in ranked[:count]}, spans)
            if draft.put(shown):
                return
            size = draft.meter.size(list(shown.values()))
            count = min(count - 1, int(count * draft.room / size))


def _affordable(draft: Draft, found: Candidates, ranked: Sequence[int]) -> int:
    """How many of the first ones fit, each counted by itself, with what their units cost once."""
    closed, room = frames(draft), draft.room
    for count, one in enumerate(ranked):
        room -= found.size[one] + closed.pop(found.unit[one], 0)
        if room < 0:
            return count
    return len(ranked)


def _spans(message: Message, places: set[int]) -> list[Span]:
    """Where the words stand, with short ones between two of them."""
    here = words(content_text(message))
    between = {place + 1 for place in places if place + 2 in places and len(here[place + 1].key) <= BRIDGE}
    return [here[place][:2] for place in places | between]
