"""The formats by name, and the one way to read them."""

import importlib
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from ctxbench.conversation.importers.base import Tally, WrongFormat
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.loading import load_offer, offered, told


class Importer(Protocol):
    """What a format's module has, or an installed package's object."""

    ABOUT: str

    def looks_like(self, record: Any) -> bool:
        """Whether a JSON record is of this format."""
        ...

    def read(self, path: Path, tally: Tally, language: str | None) -> Iterator[Conversation]:
        """The conversations of a file or folder; `language` overrides what the format says."""
        ...


FORMATS = (
    "bfcl", "functionchat", "kdconv", "lines", "locomo", "longmemeval", "mt_bench", "openai", "sharegpt",
    "squad", "swe_agent", "tau_bench",
)  # fmt: skip
"""Those that come with ctxbench."""


def formats() -> list[str]:
    """All formats: ctxbench's own, and those of installed packages."""
    return [*FORMATS, *offered("dataset")]


def importer(name: str) -> Importer:
    """The module of a format, or the object that a package offers for it."""
    if name not in formats():
        raise unknown_name("format", name, formats())
    if name not in FORMATS:
        found: Importer = load_offer("dataset", name)
        if missing := [part for part in ("ABOUT", "looks_like", "read") if not hasattr(found, part)]:
            raise CtxbenchError(f"the importer {name} has no {missing[0]}; it needs ABOUT, looks_like and read")
        return found
    module: Any = importlib.import_module(f"ctxbench.conversation.importers.{name}")
    return module  # type: ignore[no-any-return]


def import_conversations(
    name: str, path: Path, *, language: str | None = None, tally: Tally | None = None
) -> Iterator[Conversation]:
    """Yield the conversations of a file or folder in a named format, counting them in `tally`.

    Raises:
        CtxbenchError: with the place; and when the file is of another known format, which.
    """
    tally = tally if tally is not None else Tally()
    seen: set[str] = set()
    try:
        conversations = iter(importer(name).read(path, tally, language))
        for conversation in chain([next(conversations)], conversations):
            if conversation.id in seen:
                raise CtxbenchError(f"{path}: two conversations have the id {conversation.id!r}")
            seen.add(conversation.id)
            yield tally.keep(conversation)
    except StopIteration:
        return
    except WrongFormat as error:
        others = [other for other in FORMATS if other != name and importer(other).looks_like(error.record)]
        hint = f"; it looks like {' or '.join(others)}" if others and not tally.kept["conversations"] else ""
        raise CtxbenchError(f"{error} (format {name}){hint}") from None
    except Exception as error:
        if name in FORMATS or isinstance(error, CtxbenchError):
            raise
        raise CtxbenchError(f"{path}: the importer {name} failed: {told(error)}") from error
