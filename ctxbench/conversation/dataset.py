"""Loads the conversations of a run: from which file, in which format, which languages, how many."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec

from ctxbench.conversation.importers.registry import import_conversations
from ctxbench.conversation.jsonl import read_conversations
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.resources import datasets_folder


class Dataset(msgspec.Struct, frozen=True):
    """Conversations under a name. `imported`: from a format whose probes nobody has proved."""

    name: str
    conversations: list[Conversation]
    imported: bool = False


def load_dataset(
    path: str,
    *,
    format: str | None = None,
    name: str | None = None,
    limit: int | None = None,
    languages: Iterable[str] | None = None,
    language: str | None = None,
) -> Dataset:
    """Load a dataset.

    Args:
        path: a file, a folder, or the name of a bundled dataset.
        format: a public format (`ctxbench.conversation.importers`); None is ctxbench's own.
        name: how reports call it; by default the last part of the path.
        limit: at most so many conversations, the first ones.
        languages: only conversations in these languages; `zh` includes `zh-Hans`.
        language: the tag for conversations of a format that does not say their language.
    """
    place = _find(path)
    if limit is not None and limit < 1:
        raise CtxbenchError(f"dataset.limit is {limit}; give 1 or more")
    if format is None:
        conversations: Iterable[Conversation] = read_conversations(place)
    else:
        conversations = import_conversations(format, place, language=language)
    if languages:
        wanted = tuple(languages)
        conversations = (one for one in conversations if _matches(one.language, wanted))
    chosen = list(islice(conversations, limit))
    if not chosen:
        among = f" in {', '.join(languages)}" if languages else ""
        raise CtxbenchError(f"dataset {path}: no conversations{among}")
    return Dataset(name or place.stem, chosen, imported=format is not None)


def _find(path: str) -> Path:
    for place in (Path(path).expanduser(), datasets_folder() / path):
        if place.exists():
            return place
    raise CtxbenchError(
        f"dataset {path!r}: no such file or folder, and no bundled dataset ({', '.join(bundled_datasets())})"
    )


def bundled_datasets() -> list[str]:
    """The names of the datasets that come with the package."""
    return sorted(folder.name for folder in datasets_folder().iterdir() if folder.is_dir())


def _matches(language: str, wanted: tuple[str, ...]) -> bool:
    return any(language == tag or language.startswith(f"{tag}-") for tag in wanted)
