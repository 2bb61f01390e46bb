"""Loads what other people wrote: from a file, by import path, or from an installed package's entry points.

Every fault is one line that names the place. What the objects are used for is `plugins`' matter.
"""

import hashlib
import importlib
import importlib.util
import os
import sys
import traceback
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock
from types import ModuleType
from typing import Any

from ctxbench.errors import CtxbenchError, unknown_name

ENTRY_POINTS = {
    "strategy": "ctxbench.strategies",
    "estimator": "ctxbench.estimators",
    "tokenizer": "ctxbench.tokenizers",
    "summarizer": "ctxbench.summarizers",
    "dataset": "ctxbench.importers",
}
"""Configuration group -> the entry points that are options of it."""

_PASSED = (str(Path(__file__).parent) + os.sep, str(Path(importlib.__file__).parent) + os.sep, "<frozen")
"""Where an error is not the fault of: files of ctxbench and of Python's import."""

_loading = RLock()


def told(error: BaseException) -> str:
    """`TYPE: message (FILE:LINE)`: the line in the first file outside ctxbench that the error came through."""
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    outside = [(file, line) for file, line in frames if not file.startswith(_PASSED)]
    message = " ".join(str(error).split())
    if isinstance(error, SyntaxError) and error.filename:
        outside, message = [(error.filename, error.lineno or 0)], error.msg
    text = f"{type(error).__name__}: {message}" if message else type(error).__name__
    if not outside:
        return text
    home = outside[0][0]
    line = [line for file, line in outside if file == home][-1]
    return f"{text} ({_short(home)}:{line})"


def load_object(place: str) -> Any:
    """The object that `FILE.py:NAME` (relative to the working folder) or `package.module.NAME` names."""
    holder, colon, name = place.rpartition(":")
    if not colon and not place.endswith(".py"):
        holder, _, name = place.rpartition(".")
    elif not colon or not name:
        file = holder or place
        names = ", ".join(_names(_module_of_file(Path(file)))) or "nothing"
        raise CtxbenchError(f"{file}: say what to take from it, as in {file}:NAME; it has {names}")
    if not holder or not name:
        raise CtxbenchError(f"{place!r} names nothing; give FILE.py:NAME or package.module.NAME")
    module = _module_of_file(Path(holder)) if holder.endswith(".py") else _module(holder)
    if not hasattr(module, name):
        raise unknown_name(f"name in {holder}:", name, _names(module))
    return getattr(module, name)


@cache
def offers(group: str) -> tuple[EntryPoint, ...]:
    """What installed packages offer as options of a configuration group; nothing is imported."""
    return tuple(sorted(entry_points(group=ENTRY_POINTS[group]))) if group in ENTRY_POINTS else ()


def offered(group: str) -> dict[str, EntryPoint]:
    """The offers by name."""
    return {entry.name: entry for entry in offers(group)}


def package_of(entry: EntryPoint) -> str:
    """The name of the package that offers it."""
    return entry.dist.name if entry.dist is not None else "unknown"


def load_offer(group: str, name: str) -> Any:
    """The object of an offer; a package that fails to import is named."""
    if name not in offered(group):
        raise unknown_name(f"entry point of {ENTRY_POINTS[group]}:", name, list(offered(group)))
    entry = offered(group)[name]
    try:
        return entry.load()
    except (Exception, SystemExit) as error:
        raise CtxbenchError(f"{name} of the package {package_of(entry)} cannot be loaded: {told(error)}") from error


def _module_of_file(file: Path) -> ModuleType:
    """The module of a file, run once a process; its folder can be imported from."""
    path = file.expanduser().resolve()
    if not path.is_file():
        raise CtxbenchError(f"{file}: no such file")
    name = f"{path.stem}_{hashlib.sha1(str(path).encode()).hexdigest()[:8]}"
    with _loading:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        _importable(path.parent)
        sys.modules[name] = module  # dataclasses and pickle look their module up
        try:
            spec.loader.exec_module(module)
        except (Exception, SystemExit) as error:
            del sys.modules[name]
            raise CtxbenchError(f"{file} cannot be loaded: {told(error)}") from error
        return module


def _module(name: str) -> ModuleType:
    _importable(Path.cwd())
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name and f"{name}.".startswith(f"{error.name}."):
            raise CtxbenchError(f"no module named {error.name!r}; a file is given as FILE.py:NAME") from None
        raise CtxbenchError(f"{name} cannot be loaded: {told(error)}") from error


def _importable(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.append(str(folder))  # last, so that it hides nothing that is installed


def _names(module: ModuleType) -> list[str]:
    """The classes and functions that the module itself defines."""
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _short(file: str) -> str:
    here = f"{Path.cwd()}{os.sep}"
    return file.removeprefix(here)
