"""`python -m ctxbench validate PATH...`: proves that datasets are well formed and sound."""

import argparse
from pathlib import Path

from ctxbench.conversation.jsonl import jsonl_files, read_lines
from ctxbench.scoring.soundness import faults

HELP = "check datasets: structure, tool pairs, and that each probe measures what it claims"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("paths", nargs="+", type=Path, help="a .jsonl file, or a folder of them")


def run(arguments: argparse.Namespace) -> int:
    """Print every fault with its file and line; 0 when there is none, 1 otherwise."""
    found = conversations = probes = 0
    places: dict[str, str] = {}
    for file in [file for path in arguments.paths for file in jsonl_files(path)]:
        for place, conversation in read_lines(file):
            problems = list(faults(conversation))
            if conversation.id in places:
                problems.insert(0, f"id {conversation.id!r} stands already at {places[conversation.id]}")
            places.setdefault(conversation.id, place)
            for problem in problems:
                print(f"{place}: {conversation.id}: {problem}")
            found, conversations = found + len(problems), conversations + 1
            probes += len(conversation.probes)
    print(f"{conversations} conversations, {probes} probes, {found} faults")
    return 1 if found or not conversations else 0
