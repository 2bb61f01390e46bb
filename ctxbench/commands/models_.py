"""`python -m ctxbench models pull [NAME]`: fetches the weights of a local model and checks them."""

import argparse

from ctxbench.models.weights import WEIGHTS, pull

HELP = "fetch the weights of local models"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    known = "; ".join(f"{name}: {weights.about}" for name, weights in WEIGHTS.items())
    parser.add_argument("action", choices=["pull"], help="fetch a model and check its sha256")
    parser.add_argument("name", nargs="?", default=next(iter(WEIGHTS)), help=known)


def run(arguments: argparse.Namespace) -> int:
    """Fetch the model unless it is there; print where it is."""
    path, fetched = pull(arguments.name)
    print(f"{arguments.name}: {'fetched' if fetched else 'already there'}, sha256 checked: {path}")
    return 0
