"""Builds the parts of a run from its configuration."""

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import hydra
import msgspec
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf

from ctxbench.context.manager import ContextManager
from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.resources import group_options
from ctxbench.scoring.soundness import mark_verbatim
from ctxbench.tokens.tokenizers import Tokenizer

Choices = Mapping[str, str]
"""Group -> the name of the chosen option."""


def build(config: DictConfig, **arguments: Any) -> Any:
    """The object that `_target_` names; errors of its own stay one line."""
    try:
        return hydra.utils.instantiate(config, **arguments)
    except InstantiationException as error:
        cause = error.__cause__
        if isinstance(cause, CtxbenchError):
            raise cause from None
        reason = f"{type(cause).__name__}: {cause}" if cause else str(error)
        raise CtxbenchError(f"cannot build {config.get('_target_')}: {' '.join(reason.split())}") from error


def build_option(group: str, name: str) -> Any:
    """The object of one option of a group, with the option's own defaults."""
    options = group_options(group)
    if name not in options:
        raise unknown_name(group, name, list(options))
    config = OmegaConf.load(options[name])
    assert isinstance(config, DictConfig)
    return build(config)


def option_names(group: str, chosen: Iterable[str] | None) -> list[str]:
    """The options of a group to compare: those chosen, or all that need no setting of the user's."""
    known = [name for name, file in group_options(group).items() if "???" not in file.read_text("utf-8")]
    for name in chosen or ():
        if name not in known:
            raise unknown_name(group, name, known)
    return list(chosen) if chosen else known


def build_tokenizer(config: DictConfig) -> Tokenizer:
    """The tokenizer of a configuration; the jobs of a sweep share it and its counts."""
    return _tokenizer(OmegaConf.to_yaml(config, resolve=True))


@lru_cache
def _tokenizer(config: str) -> Tokenizer:
    settings = OmegaConf.create(config)
    assert isinstance(settings, DictConfig)
    tokenizer: Tokenizer = build(settings)
    return tokenizer


def build_dataset(config: DictConfig) -> Dataset:
    """The conversations that the configuration chooses."""
    dataset: Dataset = build(config)
    if not dataset.imported:
        return dataset
    return msgspec.structs.replace(dataset, conversations=[mark_verbatim(one) for one in dataset.conversations])


def manager_factory(config: DictConfig) -> Callable[[Conversation, int], ContextManager]:
    """Makes the context manager of one conversation; those of one language share a strategy."""
    storage = build(config.storage)

    @lru_cache
    def parts(language: str) -> tuple[Any, Any]:
        localised = config.copy()
        localised.language = language
        fallback = build(localised.fallback) if config.on_failure == "fallback" else None
        return build(localised.strategy), fallback

    def make(conversation: Conversation, max_tokens: int) -> ContextManager:
        strategy, fallback = parts(config.language or conversation.language)
        return ContextManager(
            strategy,
            max_tokens,
            storage=storage,
            write_back=config.write_back or config.rounds > 0,
            on_failure=config.on_failure,
            fallback=fallback,
            retries=config.retries,
            backoff_s=config.backoff_s,
        )

    return make
