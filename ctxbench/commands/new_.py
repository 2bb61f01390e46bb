"""`python -m ctxbench new strategy NAME`: writes a strategy to begin with, and a test that it passes."""

import argparse
import importlib.util
import keyword
import sys
from pathlib import Path

from ctxbench.errors import CtxbenchError
from ctxbench.files import write_atomic

HELP = "write a small working strategy and its test into this folder"

STRATEGY = '''\
"""A compression strategy: which messages are sent when the conversation is over its budget."""

from ctxbench import BudgetStrategy, Draft, Estimator


class {cls}(BudgetStrategy):
    """Keeps the `head` oldest messages and as many of the newest as fit.

    The draft begins with the system messages and the last user message. Its units are the
    others: a message, or a tool call with its results. A setting is an argument, as in
    strategy.settings.head=3; with an argument `summarizer` or `tokenizer` you get those, too.
    """

    def __init__(self, estimator: Estimator, head: int = 1) -> None:
        super().__init__(estimator)
        self.head = head

    def choose(self, draft: Draft) -> None:
        """Add units as long as they fit; the draft puts them into their order."""
        for unit in draft.units[: self.head]:
            draft.add(unit)
        for unit in reversed(draft.units):
            if not draft.add(unit):
                break
'''

TEST = '''\
"""What {cls} promises."""

import pytest
from ctxbench import Chars4, Message, ToolCall
from ctxbench.conversation.model import FunctionCall
from ctxbench.conversation.validity import broken_rules, is_valid

from {name} import {cls}


def conversation() -> list[Message]:
    """A system message, ten questions that are each answered with the help of a tool, and one more question."""
    messages = [Message("system", "You answer questions about orders.")]
    for number in range(10):
        call = ToolCall(f"call_{{number}}", FunctionCall("find_order", f'{{{{"number": {{number}}}}}}'))
        messages += [
            Message("user", f"Where is my order number {{number}}?"),
            Message("assistant", None, tool_calls=(call,)),
            Message("tool", f"Order {{number}} has left the house.", tool_call_id=call.id),
            Message("assistant", f"Your order {{number}} is on its way to you."),
        ]
    return [*messages, Message("user", "And when will the last one arrive?")]


@pytest.mark.parametrize("share", [0.2, 0.3, 0.5, 0.8])
def test_{name}(share: float) -> None:
    messages, estimator = conversation(), Chars4()
    budget = int(share * estimator.estimate(messages))
    context = {cls}(estimator).compress(messages, budget)
    assert messages == conversation(), "the input was changed"
    assert context[0] == messages[0], "the system message is gone"
    assert context[-1] == messages[-1], "the last question is gone"
    assert estimator.estimate(context) <= budget, "the context is over its budget"
    assert len(context) > 2, "nothing but the question was kept"
    assert is_valid(broken_rules(context), "openai"), "a tool call lost its result, or a result its call"
'''


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=["strategy"], help="what to write")
    parser.add_argument("name", help="its name, such as my_strategy: the files are my_strategy.py, test_my_strategy.py")


def run(arguments: argparse.Namespace) -> int:
    """Write the two files and print what to do next."""
    name: str = arguments.name
    cls = "".join(part[:1].upper() + part[1:] for part in name.split("_"))
    files = {Path(f"{name}.py"): STRATEGY, Path(f"test_{name}.py"): TEST}
    _check(name, cls, list(files))
    for path, text in files.items():
        with write_atomic(path) as stream:
            stream.write(text.format(name=name, cls=cls).encode())
        print(f"written: {path}")
    print(f"run it:  python -m ctxbench strategy.path={name}.py:{cls}")
    print(f"test it: python -m pytest test_{name}.py")
    return 0


def _check(name: str, cls: str, files: list[Path]) -> None:
    if not (name.isascii() and name.isidentifier() and cls.isidentifier()) or keyword.iskeyword(name):
        raise CtxbenchError(f"{name!r} cannot name a Python file and a class; give a name such as my_strategy")
    for path in files:
        if path.exists():
            raise CtxbenchError(f"{path}: the file is already there; remove it or give another name")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise CtxbenchError(f"{name}.py would hide the installed module {name}; give another name")
