"""A context under construction: what must stay, what was chosen, and the room that is left.

Must stay: the system messages and the last user message. What else stays, and in which
form, is the strategy's choice.
"""

from bisect import bisect_right
from collections.abc import Container, Iterable, Mapping, Sequence

from ctxbench.context.failures import CannotFit
from ctxbench.context.units import Unit, last_user, split_units
from ctxbench.conversation.model import Message
from ctxbench.tokens.estimators.base import AdditiveEstimator, Estimator


class Meter:
    """Adds up sizes in the estimator's own unit, so that rounding happens once, at the end."""

    def __init__(self, estimator: Estimator) -> None:
        self._estimator = estimator
        self._additive = estimator if isinstance(estimator, AdditiveEstimator) else None

    def size(self, messages: Sequence[Message]) -> int:
        """The size of messages."""
        return self._estimator.estimate(messages) if self._additive is None else self._additive.sizes(messages)

    def text_size(self, text: str) -> int:
        """The size that a text adds to a message."""
        return self.size([Message("", text)]) if self._additive is None else self._additive.cached_size(text)

    def tokens(self, size: int) -> int:
        """The tokens that a sum of sizes stands for."""
        return size if self._additive is None else self._additive.tokens(size)

    def capacity(self, tokens: int) -> int:
        """The largest size that stands for no more than these tokens."""
        high = 1
        while self.tokens(high) <= tokens:
            high *= 2
        return bisect_right(range(high), tokens, key=self.tokens) - 1


class Draft:
    """Begins with what must stay; raises `CannotFit` when that alone is over `max_tokens`.

    `optional` are indices of system messages that need not stay: summaries.
    """

    def __init__(
        self, messages: Sequence[Message], max_tokens: int, estimator: Estimator, optional: Container[int] = ()
    ) -> None:
        self.messages = messages
        self.max_tokens = max_tokens
        self.units = split_units(messages, optional)
        self.meter = Meter(estimator)
        self._lead: list[Message] = []
        fixed = (index for index, message in enumerate(messages) if message.is_system and index not in optional)
        self._chosen = {index: messages[index] for index in fixed}
        system = self.meter.size(list(self._chosen.values()))
        latest = last_user(messages)
        asked = next((unit for unit in self.units if latest in unit), [])
        self._chosen.update((index, messages[index]) for index in asked)
        self._size = system + self.size(asked)
        self.required = self.tokens
        if self.required > max_tokens:
            sizes = {"system messages": system, "the last user message": self.size(asked)}
            tokens = {name: self.meter.tokens(size) for name, size in sizes.items()}
            raise CannotFit(self.context(), tokens, max_tokens)

    @property
    def tokens(self) -> int:
        """Tokens of what is chosen so far."""
        return self.meter.tokens(self._size)

    @property
    def room(self) -> int:
        """The size that is left."""
        return self.meter.capacity(self.max_tokens) - self._size

    def has(self, unit: Unit) -> bool:
        """Whether the unit was chosen."""
        return unit[0] in self._chosen

    def size(self, unit: Unit) -> int:
        """The size of a unit, in the meter's unit."""
        return self.meter.size([self.messages[index] for index in unit])

    def fits(self, size: int, share: float = 1.0) -> bool:
        """Whether so much more fits into `share` of the room that is not taken by what must stay."""
        limit = self.required + int(share * (self.max_tokens - self.required))
        return self.meter.tokens(self._size + size) <= limit

    def add(self, *units: Unit, share: float = 1.0) -> bool:
        """Choose units, if all of them fit; returns whether they are chosen."""
        new = [unit for unit in units if not self.has(unit)]
        size = sum(map(self.size, new))
        if not self.fits(size, share):
            return False
        self._size += size
        self._chosen.update((index, self.messages[index]) for unit in new for index in unit)
        return True

    def add_newest(self, groups: Sequence[Iterable[Unit]], share: float = 1.0) -> int:
        """Choose groups of units from the last one back, until one does not fit; returns where they begin."""
        for start in range(len(groups) - 1, -1, -1):
            if not self.add(*groups[start], share=share):
                return start + 1
        return 0

    def lead(self, message: Message) -> bool:
        """Put a new message behind the system messages, if it fits; returns whether it does."""
        size = self.meter.size([message])
        if self.fits(size):
            self._size += size
            self._lead.append(message)
            return True
        return False

    def put(self, changed: Mapping[int, Message]) -> bool:
        """Choose other messages in the place of those with these indices, if they fit; returns whether they do."""
        size = self.meter.size(list(changed.values()))
        if not self.fits(size):
            return False
        self._size += size
        self._chosen.update(changed)
        return True

    def context(self) -> list[Message]:
        """System messages first, then what was chosen, in its order."""
        chosen = [message for _, message in sorted(self._chosen.items())]
        return [m for m in chosen if m.is_system] + self._lead + [m for m in chosen if not m.is_system]
