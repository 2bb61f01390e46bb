"""Loads the conversations of a run: which files, which languages, how many."""

from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import msgspec

from ctxbench.conversation.jsonl import jsonl_files, read_conversations
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.resources import datasets_folder


class Dataset(msgspec.Struct, frozen=True):
    """Conversations and the files that they are from."""

    name: str
    files: list[Path]
    conversations: list[Conversation]


def load_dataset(
    path: str, *, name: str | None = None, limit: int | None = None, languages: Iterable[str] | None = None
) -> Dataset:
    """Load a dataset.

    Args:
        path: a file, a folder, or the name of a bundled dataset.
        name: how reports call it; by default the last part of the path.
        limit: at most so many conversations, the first ones.
        languages: only conversations in these languages; `zh` includes `zh-Hans`.
    """
    place = _find(path)
    if limit is not None and limit < 1:
        raise CtxbenchError(f"dataset.limit is {limit}; give 1 or more")
    conversations: Iterable[Conversation] = read_conversations(place)
    if languages:
        wanted = tuple(languages)
        conversations = (one for one in conversations if _matches(one.language, wanted))
    chosen = list(islice(conversations, limit))
    if not chosen:
        among = f" in {', '.join(languages)}" if languages else ""
        raise CtxbenchError(f"dataset {path}: no conversations{among}")
    return Dataset(name or place.stem, jsonl_files(place), chosen)


def _find(path: str) -> Path:
    for place in (Path(path).expanduser(), datasets_folder() / path):
        if place.exists():
            return place
    bundled = sorted(folder.name for folder in datasets_folder().iterdir() if folder.is_dir())
    raise CtxbenchError(f"dataset {path!r}: no such file or folder, and no bundled dataset ({', '.join(bundled)})")


def _matches(language: str, wanted: tuple[str, ...]) -> bool:
    return any(language == tag or language.startswith(f"{tag}-") for tag in wanted)
