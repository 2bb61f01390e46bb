"""`python -m ctxbench validate PATH...`: proves that datasets are well formed and sound."""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ctxbench.conversation.importers.registry import formats, import_conversations
from ctxbench.conversation.jsonl import jsonl_files, read_lines
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.scoring.soundness import Fault, faults, mark_verbatim

HELP = "check datasets: structure, tool pairs, languages, and that each probe measures what it claims"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", type=Path, help="a .jsonl file, or a folder of them")
    parser.add_argument("--format", choices=formats(), help="the files are of this public format: faults are counted")
    parser.add_argument("--language", help="the language of a format that does not say it")
    parser.add_argument("--strict", action="store_true", help="with --format: tell every fault, and exit with 1")


def run(arguments: argparse.Namespace) -> int:
    """Print every fault with its place, or for public formats their counts; 1 when there is one that counts."""
    counts: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    tell = arguments.format is None or arguments.strict
    for path in arguments.paths:
        for place, conversation, found in _checked(path, arguments):
            totals["conversations"] += 1
            totals["probes"] += len(conversation.probes) if conversation else 0
            for fault in found:
                counts[fault.kind] += 1
                if tell:
                    print(f"{place}: {fault.text}")
    if not tell:
        for kind, count in counts.most_common():
            print(f"{count:,} {kind}")
    print(f"{totals['conversations']:,} conversations, {totals['probes']:,} probes, {counts.total():,} faults")
    return 1 if (tell and counts) or not totals["conversations"] else 0


def _checked(path: Path, arguments: argparse.Namespace) -> Iterator[tuple[str, Conversation | None, list[Fault]]]:
    """Each conversation of a path with its place and its faults; a broken line has no conversation."""
    if arguments.format is not None:
        for conversation in import_conversations(arguments.format, path, language=arguments.language):
            yield f"{path}: {conversation.id}", conversation, list(faults(mark_verbatim(conversation)))
        return
    places: dict[str, str] = {}
    for file in jsonl_files(path):
        for number, line in read_lines(file):
            place = f"{file}:{number}"
            if isinstance(line, CtxbenchError):
                yield place, None, [Fault("broken_line", str(line).removeprefix(f"{place}: "))]
                continue
            found = list(faults(line))
            if line.id in places:
                found.insert(0, Fault("duplicate_id", f"id stands already at {places[line.id]}"))
            places.setdefault(line.id, place)
            yield f"{place}: {line.id}", line, found
