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
        sizes: dict[str, int] = {}  # of the words that were said
        for number, unit in enumerate(draft.units):
            for index in [] if draft.has(unit) else unit:
                text = content_text(draft.messages[index])
                here = keys(text)
                own = measure.each(text)
                for place, key in enumerate(here):
                    if key in sizes:
                        own[place] *= SAID_AGAIN
                        continue
                    word = words(text)[place]
                    sizes[key] = max(1, draft.meter.text_size(f" {text[word.start : word.end]}"))
                self.size += map(sizes.__getitem__, here)
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
        tries: list[tuple[int, int]] = []
        while count > 0:
            shown = _shown(draft, words_of, ranked[:count])
            if draft.put(shown):
                return
            tries.append((count, draft.meter.size(list(shown.values()))))
            count -= max(1, int((tries[-1][1] - draft.room) / _cost(tries)))


def _shown(draft: Draft, found: Candidates, chosen: Sequence[int]) -> dict[int, Message]:
    places: dict[int, set[int]] = {}
    for one in chosen:
        places.setdefault(found.message[one], set()).add(found.place[one])
    spans = {index: _spans(draft.messages[index], kept) for index, kept in places.items()}
    return shortened(draft, {found.unit[one] for one in chosen}, spans)


def _cost(tries: Sequence[tuple[int, int]]) -> float:
    """The size of one of the last words, from the tries so far (counts of words, sizes); it is less than the mean."""
    count, size = tries[-1]
    mean = size / count
    if len(tries) == 1:
        return mean
    more, larger = tries[-2]
    return min(mean, max(mean / 2, (larger - size) / (more - count)))


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
