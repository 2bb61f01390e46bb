"""`python -m ctxbench list [GROUP | datasets]`: what can be chosen, and what the bundled datasets hold."""

import argparse
import importlib.metadata
import inspect
import re
from pathlib import Path

from ctxbench.errors import CtxbenchError
from ctxbench.loading import load_offer, offers, package_of
from ctxbench.resources import datasets_folder, group_options, groups

HELP = "list what can be chosen: strategies, summarizers, estimators, tokenizers, datasets, ..."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("group", nargs="?", help="a group such as strategy; or `datasets`: what the bundled ones hold")


def run(arguments: argparse.Namespace) -> int:
    """Print the options of every group: the first comment of the file, or of a package's offer its docstring."""
    if arguments.group == "datasets":
        _print_datasheets()
        return 0
    for group in [arguments.group] if arguments.group else groups():
        print(f"{group}:")
        for name, file in group_options(group).items():
            print(f"  {name:18} {_description(file)}")
        for entry in offers(group):
            print(f"  {entry.name:18} {_offer(group, entry.name, package_of(entry))}")
    return 0


def _offer(group: str, name: str, package: str) -> str:
    """What an installed package's option is, or why it cannot be used."""
    if name in group_options(group):
        return f"refused: ctxbench has this name itself (package {package})"
    try:
        thing = load_offer(group, name)
    except CtxbenchError as error:
        return f"broken: {error}"
    about = getattr(thing, "ABOUT", None) or inspect.getdoc(thing) or ""
    return f"{about.partition(chr(10))[0]} (package {package})".lstrip()


def _print_datasheets() -> None:
    from ctxbench.conversation.dataset import bundled_datasets
    from ctxbench.conversation.jsonl import read_conversations
    from ctxbench.stats.datasets import datasheet
    from ctxbench.tokens.vocab import tiktoken_encoding

    for name in bundled_datasets():
        print(f"dataset {name}\n")
        print(datasheet(read_conversations(datasets_folder() / name), tiktoken_encoding("o200k_base")))


def _description(file: Path) -> str:
    text = file.read_text("utf-8")
    about = re.match(r"# (.*)", text)
    package = re.search(r"^# package: (.*)$", text, re.MULTILINE)
    missing = f" (not installed: pip install {package[1]})" if package and not _installed(package[1]) else ""
    return (about[1] if about else "") + missing


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
