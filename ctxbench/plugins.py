"""Parts that ctxbench did not bring: the user's own by file or import path, and those of installed packages.

Makes the objects and puts them behind what guards them. Finding and importing them is
`loading`'s matter, what a strategy may do `context.strategies.guarded`'s.
"""

import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ctxbench.context.strategies.callable import FunctionStrategy
from ctxbench.context.strategies.guarded import Guarded
from ctxbench.context.summarizers.guarded import GuardedSummarizer
from ctxbench.errors import CtxbenchError
from ctxbench.loading import ENTRY_POINTS, load_object, load_offer, offers, package_of, told
from ctxbench.resources import group_options
from ctxbench.tokens.estimators.base import Estimator
from ctxbench.tokens.tokenizers import CachedTokenizer

Settings = Mapping[str, Any]

PARTS = {"strategy": ("estimator", "summarizer", "tokenizer"), "summarizer": ("estimator", "tokenizer")}
"""Group -> the run's parts that an option gets where its arguments have that name."""

NEEDS = {"estimator": ("estimate",), "summarizer": ("summarize",), "tokenizer": ("count_batch",)}
"""Group -> the methods without which an option is none; `Guarded` looks at strategies itself."""


def strategy_from_path(path: str, *, settings: Settings, **parts: Any) -> Guarded:
    """The strategy of a class that `FILE.py:CLASS` or `package.module.CLASS` names."""
    found = load_object(path)
    if inspect.isroutine(found):
        raise CtxbenchError(f"{path} is a function, not a class; give strategy=callable strategy.target={path}")
    return Guarded(_made(found, path, settings, parts), last_name(path), parts["estimator"])


def strategy_from_callable(target: str, *, estimator: Estimator) -> Guarded:
    """The strategy of a function from a list of chat-completions messages to such a list."""
    function = load_object(target)
    if isinstance(function, type) or not callable(function):
        raise CtxbenchError(f"{target} is no function; a class is given as strategy=path strategy.path={target}")
    name = last_name(target)
    return Guarded(FunctionStrategy(function, name), name, estimator)


def from_entry_point(entry_point: str, **given: Any) -> Any:
    """The object of the entry point `GROUP:NAME`; `given` are the run's parts and the user's settings."""
    entries, _, name = entry_point.partition(":")
    group = next(group for group, known in ENTRY_POINTS.items() if known == entries)
    parts = {part: given.pop(part) for part in PARTS.get(group, ()) if part in given}
    made = _made(load_offer(group, name), name, given, parts)
    if missing := [method for method in NEEDS.get(group, ()) if not callable(getattr(made, method, None))]:
        raise CtxbenchError(f"{group} {name} ({type(made).__name__}) has no method {missing[0]}")
    if group == "strategy":
        return Guarded(made, name, parts["estimator"])
    if group == "summarizer":
        return GuardedSummarizer(made, name)
    if group == "tokenizer" and not isinstance(made, CachedTokenizer):
        return CachedTokenizer(getattr(made, "name", name), made.count_batch)
    return made


def option_node(group: str, name: str) -> dict[str, Any]:
    """The configuration of an entry point as an option of a group, as a file in `configs/` would have it."""
    if group == "dataset":
        settings = dict.fromkeys(("limit", "languages", "language"))
        load = "ctxbench.conversation.dataset.load_dataset"
        return {"_target_": load, "format": name, "path": "???", "name": name, **settings}
    parts = {part: f"${{{part}}}" for part in PARTS.get(group, ())}
    where = {"_target_": f"{__name__}.from_entry_point", "_convert_": "all"}
    return {**where, "entry_point": f"{ENTRY_POINTS[group]}:{name}", **parts}


def register() -> None:
    """Make the entry points of installed packages options of Hydra's groups; nothing of theirs is imported.

    Raises:
        CtxbenchError: a package offers a name that another, or ctxbench itself, has.
    """
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf

    for group in ENTRY_POINTS:
        for fault in name_faults(group):
            raise CtxbenchError(fault)
        for entry in offers(group):
            node = OmegaConf.create(option_node(group, entry.name), flags={"struct": False})  # any setting may be given
            ConfigStore.instance().store(entry.name, node, group=group, provider=package_of(entry))


def name_faults(group: str) -> Iterator[str]:
    """What is wrong with the names that packages offer."""
    owners = dict.fromkeys(group_options(group), "ctxbench itself")
    for entry in offers(group):
        if entry.name in owners:
            yield (
                f"the package {package_of(entry)} offers a {group} {entry.name!r}, which {owners[entry.name]} has "
                "already; uninstall it, or ask its author for another name"
            )
        owners.setdefault(entry.name, f"the package {package_of(entry)}")


def package_versions() -> dict[str, str]:
    """The versions of the packages that offer anything."""
    entries = [entry for group in ENTRY_POINTS for entry in offers(group)]
    return {package_of(entry): entry.dist.version for entry in entries if entry.dist is not None}


def with_implied(overrides: Sequence[str]) -> list[str]:
    """The overrides with what they imply: `strategy.path=...` chooses `strategy=path`, settings may be any."""
    choices = {"strategy.path": "strategy=path", "strategy.target": "strategy=callable"}
    chosen = any(override.startswith("strategy=") for override in overrides)
    complete = []
    for override in overrides:
        name = override.partition("=")[0]
        if name in choices and not chosen:
            complete.append(choices[name])
            chosen = True
        complete.append(f"++{override}" if re.match(r"strategy\.settings\b", name) else override)
    return complete


def named(choices: Mapping[str, str], strategy: Mapping[str, Any]) -> dict[str, str]:
    """The choices, in which the user's own strategy has its class's or function's name instead of `path`."""
    key = {"path": "path", "callable": "target"}.get(choices.get("strategy", ""))
    return {**choices, "strategy": last_name(strategy[key])} if key else dict(choices)


def last_name(place: str) -> str:
    """What stands after the last colon or dot."""
    return re.split(r"[:.]", place)[-1]


def _made(thing: Any, place: str, settings: Settings, parts: Mapping[str, Any]) -> Any:
    """The object that a class or function makes from the settings and those parts that it takes."""
    if not isinstance(thing, type) and not inspect.isroutine(thing):
        return thing
    known = inspect.signature(thing).parameters
    arguments = {name: part for name, part in parts.items() if name in known} | dict(settings)
    try:
        inspect.signature(thing).bind(**arguments)
    except TypeError as error:
        names = ", ".join(map(str, known.values())) or "none"
        raise CtxbenchError(f"{place} cannot be made: {error}; its arguments: {names}") from None
    try:
        return thing(**arguments)
    except CtxbenchError:
        raise
    except (Exception, SystemExit) as error:
        raise CtxbenchError(f"{place} cannot be made: {told(error)}") from error
