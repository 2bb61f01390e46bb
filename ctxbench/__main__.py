"""`python -m ctxbench`: an experiment by default, or a named command.

Every error that a user can mend is one line on stderr; `CTXBENCH_DEBUG=1` shows where
it came from. Exit codes: 0 fine, 1 what was checked for is true, 2 wrong use.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from ctxbench.errors import CtxbenchError, unknown_name

COMMANDS = ("list", "new", "import", "validate", "models", "show", "compare", "calibrate", "track")
"""Each is a module in `ctxbench.commands`; names of modules are spelled `list_` where Python takes the name."""

USAGE = """\
usage: python -m ctxbench [OVERRIDE ...]     run an experiment, print a table, draw plots
       python -m ctxbench -m [OVERRIDE ...]  the same for every combination: strategy=sliding,smart budget=0.1,0.25
       python -m ctxbench COMMAND ...        {commands} (COMMAND --help tells more)

Overrides are settings and choices, as in
  python -m ctxbench strategy=smart budget=0.25
  python -m ctxbench strategy.path=my_strategy.py:MyStrategy
  python -m ctxbench strategy=smart summarizer=llm llm=local dataset.limit=1
  python -m ctxbench task=estimation
  python -m ctxbench resume=results/runs/...
Settings and their defaults: python -m ctxbench --cfg job
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what the command line asks for; returns the exit code."""
    try:
        return _dispatch(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output has gone; there is nobody to tell
        return 0
    except Exception as error:
        if os.environ.get("CTXBENCH_DEBUG") == "1":
            raise
        line = _one_line(error)
        if line is None:
            raise
        print(f"ctxbench: {line}", file=sys.stderr)
        return 2


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] in ("-h", "--help"):
        print(usage(), end="")
        return 0
    if arguments and arguments[0] in COMMANDS:
        command = importlib.import_module(f"ctxbench.commands.{arguments[0]}_")
        parser = argparse.ArgumentParser(prog=f"python -m ctxbench {arguments[0]}", description=command.HELP)
        command.add_arguments(parser)
        code: int = command.run(parser.parse_args(arguments[1:]))
        return code
    if arguments and "=" not in arguments[0] and not arguments[0].startswith(("-", "+", "~")):
        raise CtxbenchError(f"unknown command {arguments[0]!r}; known: {', '.join(COMMANDS)}; settings are NAME=VALUE")
    from ctxbench.app import run_app

    return run_app(arguments)


def usage() -> str:
    """The help text, with what can be chosen."""
    from ctxbench.loading import offered
    from ctxbench.resources import group_options, groups

    lines = [USAGE.format(commands=", ".join(COMMANDS)), "Choices (python -m ctxbench list tells what each is):"]
    lines += [f"  {group + '=':12} {', '.join([*group_options(group), *offered(group)])}" for group in groups()]
    return "\n".join(lines) + "\n"


def _one_line(error: Exception) -> str | None:
    """The error as one line, when it is one that the user can mend."""
    from ctxbench.context.failures import CompressionFailed

    if isinstance(error, CtxbenchError):
        return str(error)
    if isinstance(error, CompressionFailed):  # with on_failure=raise
        return f"compression failed: {error}"
    if options := getattr(error, "options", None):  # Hydra's error for an unknown option of a group
        group, _, name = str(getattr(error, "missing_cfg_file", "")).rpartition("/")
        return str(unknown_name(group, name, list(options)))
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    module = type(error).__module__.partition(".")[0]
    if module in ("hydra", "omegaconf"):
        ours = "CtxbenchError raised while resolving interpolation: "
        return " ".join(str(error).split()).removeprefix(ours)
    if module == "joblib":  # its TerminatedWorkerError
        return "a process of the sweep was killed, perhaps for want of memory; finished jobs are kept; try jobs=1"
    return None


if __name__ == "__main__":
    sys.exit(main())
