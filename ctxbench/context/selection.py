"""Chooses what tells most for its size, when a thing said twice tells little the second time.

Greedy, with values looked at again only when they come up: a piece can only lose by what
was chosen before it, so the first one that has not lost is the best.
"""

import heapq
from collections.abc import Mapping, Sequence

import msgspec

from ctxbench.context.information import SAID_AGAIN


class Piece(msgspec.Struct, frozen=True):
    """Something that can be kept: the unit it belongs to, its size, and what each word of it tells."""

    unit: int
    size: int
    bits: Mapping[str, float]


def most_telling(pieces: Sequence[Piece], frames: Mapping[int, int], room: int) -> list[int]:
    """Places of the chosen pieces, best first.

    `frames` are the sizes that a unit costs once, with its first piece; `room` is what the
    sizes may add up to. A frame counts in the worth of each piece of its unit, so that
    short pieces are not preferred.
    """
    said: set[str] = set()
    opened: set[int] = set()
    chosen: list[int] = []
    full = [(sum(piece.bits.values()), max(1, piece.size + frames[piece.unit])) for piece in pieces]
    waiting = [(-bits / size, place) for place, (bits, size) in enumerate(full)]
    heapq.heapify(waiting)
    while waiting and room > 0:
        before, place = waiting[0]
        piece = pieces[place]
        frame = 0 if piece.unit in opened else frames[piece.unit]
        if piece.size + frame > room:
            heapq.heappop(waiting)
            continue
        bits, size = full[place]
        lost = sum(piece.bits[key] for key in piece.bits.keys() & said) * (1 - SAID_AGAIN)
        now = (lost - bits) / size
        if now > before:
            heapq.heapreplace(waiting, (now, place))
            if waiting[0][1] != place:
                continue
        heapq.heappop(waiting)
        room -= piece.size + frame
        chosen.append(place)
        opened.add(piece.unit)
        said.update(piece.bits)
    return chosen
