"""`python -m ctxbench import FORMAT PATH -o OUT.jsonl`: turns a public dataset into ctxbench's form."""

import argparse
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

from ctxbench.conversation.importers.base import Tally
from ctxbench.conversation.importers.registry import formats, import_conversations, importer
from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.scoring.soundness import mark_verbatim

HELP = "import a public dataset and account for everything that was read"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = "formats:\n" + "\n".join(f"  {name:13} {_about(name)}" for name in formats())
    parser.add_argument("format", choices=formats(), metavar="FORMAT", help="one of those below")
    parser.add_argument("path", type=Path, help="the original file or folder")
    parser.add_argument("-o", "--output", type=Path, required=True, help="the .jsonl file to write")
    parser.add_argument("--limit", type=int, help="stop after so many conversations")
    parser.add_argument("--language", help="BCP 47 tag, where the format does not say the language")


def run(arguments: argparse.Namespace) -> int:
    """Write the conversations and print what was read, kept and left out, and why."""
    tally = Tally()
    read = import_conversations(arguments.format, arguments.path, language=arguments.language, tally=tally)
    count = write_conversations(arguments.output, _marked(islice(read, arguments.limit), tally))
    for line in tally.lines():
        print(line)
    if arguments.limit is not None and count == arguments.limit:
        print(f"stopped after {count} conversations (--limit)")
    print(f"written: {arguments.output}")
    return 0


def _about(name: str) -> str:
    try:
        return importer(name).ABOUT
    except CtxbenchError as error:
        return f"broken: {error}"


def _marked(conversations: Iterable[Conversation], tally: Tally) -> Iterator[Conversation]:
    for conversation in conversations:
        marked = mark_verbatim(conversation)
        if loose := sum(not probe.verbatim for probe in marked.probes):
            tally.note("questions whose answer is put otherwise: only a reader model can score them", loose)
        yield marked
