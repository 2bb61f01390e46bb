"""The one exception that users are meant to read.

Everything that a user can mend (a wrong name, a missing key, a broken file) is
raised as `CtxbenchError` with a message of one line: what is wrong, where, and
what to do. The command line prints it and exits with 2; a program that embeds
ctxbench can catch it.
"""


class CtxbenchError(Exception):
    """A fault that the user can mend; `str()` is one line that says how."""


def unknown_name(kind: str, name: str, known: list[str]) -> CtxbenchError:
    """The error for a name that does not exist: it lists those that do."""
    return CtxbenchError(f"unknown {kind} {name!r}; known: {', '.join(sorted(known)) or 'none'}")
