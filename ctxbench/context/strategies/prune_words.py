"""prune_words: drops the words that carry least, and keeps the others of all messages.

What is left reads like a telegram: names, numbers and rare words, with the short words
between two of them. A word counts more beside words that tell much, and little once it
was said before. Tool calls are kept whole where anything of them or of their results is.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

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


class Candidate(NamedTuple):
    """A word of a message. `worth` is for the root of its size: between by itself and for each token."""

    worth: float
    size: int
    unit: int
    message: int
    place: int


class PruneWords(BudgetStrategy):
    """Keeps the words most worth their size."""

    def choose(self, draft: Draft) -> None:
        """As many words as fit; joined, they may be longer than one by one."""
        candidates = sorted(_candidates(draft), key=lambda one: -one[0])
        count = _affordable(draft, candidates)
        while count > 0:
            chosen = candidates[:count]
            places: dict[int, set[int]] = {}
            for _, _, _, message, place in chosen:
                places.setdefault(message, set()).add(place)
            spans = {index: _spans(draft.messages[index], kept) for index, kept in places.items()}
            shown = shortened(draft, {one.unit for one in chosen}, spans)
            if draft.put(shown):
                return
            size = draft.meter.size(list(shown.values()))
            count = min(count - 1, int(count * draft.room / size))


def _candidates(draft: Draft) -> Iterator[Candidate]:
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
            for place, (word, before, after) in enumerate(zip(here, [0.0, *own], [*own[1:], 0.0], strict=False)):
                size = sizes.get(word.key)
                if size is None:
                    size = sizes[word.key] = max(1, draft.meter.text_size(f" {text[word.start : word.end]}"))
                worth = (own[place] + BESIDE * max(before, after)) / size**0.5
                yield Candidate(worth, size, number, index, place)


def _affordable(draft: Draft, candidates: Iterable[Candidate]) -> int:
    """How many of the first ones fit, each counted by itself, with what their units cost once."""
    closed, room = frames(draft), draft.room
    count = 0
    for _, size, unit, _, _ in candidates:
        room -= size + closed.pop(unit, 0)
        if room < 0:
            break
        count += 1
    return count


def _spans(message: Message, places: set[int]) -> list[Span]:
    """Where the words stand, with short ones between two of them."""
    here = words(content_text(message))
    between = {place + 1 for place in places if place + 2 in places and len(here[place + 1].key) <= BRIDGE}
    return [here[place][:2] for place in places | between]
