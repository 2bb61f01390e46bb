"""Builds the parts of a run from its configuration."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any

import hydra
import msgspec
from hydra.errors import InstantiationException
from omegaconf import DictConfig, OmegaConf

from ctxbench.context.manager import ContextManager
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.context.strategies.exact_check import ExactCheck
from ctxbench.context.strategies.guarded import guarded
from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.loading import offered
from ctxbench.plugins import option_node
from ctxbench.resources import group_options
from ctxbench.scoring.soundness import mark_verbatim
from ctxbench.tokens.estimators.base import AdditiveEstimator
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
    if name not in (known := [*options, *offered(group)]):
        raise unknown_name(group, name, known)
    config = OmegaConf.load(options[name]) if name in options else OmegaConf.create(option_node(group, name))
    assert isinstance(config, DictConfig)
    built = build(config)
    if group == "estimator" and not isinstance(built, AdditiveEstimator):
        raise CtxbenchError(f"estimator {name} must inherit ctxbench.AdditiveEstimator to be compared with others")
    return built


def option_names(group: str, chosen: Iterable[str] | None) -> list[str]:
    """The options of a group to compare: those chosen, or all that need no setting of the user's."""
    known = [name for name, file in group_options(group).items() if "???" not in file.read_text("utf-8")]
    known += offered(group)
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
        OmegaConf.set_struct(localised, False)
        localised.language = language
        localised.summarizer = _summarizer(localised)
        checked = bool(config.strategy.get("exact_check"))
        if checked:
            localised.estimator = {"_target_": "ctxbench.tokens.estimators.scaled.Scaled", "tokenizer": "${tokenizer}"}
        fallback = _strategy(localised.fallback, localised, checked) if config.on_failure == "fallback" else None
        return _strategy(localised.strategy, localised, checked), fallback

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
            background_at=config.get("background_at"),
            repair=config.profile if config.get("repair") else None,
        )

    return make


def _strategy(settings: DictConfig, config: DictConfig, checked: bool) -> CompressionStrategy:
    """The strategy of these settings, checked with the run's tokenizer where they ask for it."""
    strategy = guarded(build(_without_check(settings)))
    return ExactCheck(strategy, build_tokenizer(config.tokenizer)) if checked else strategy


def _without_check(settings: DictConfig) -> DictConfig:
    """The settings without `exact_check`, also in the strategies that a strategy chooses from."""
    for name in list(settings):
        if name == "exact_check":
            del settings[name]
        elif OmegaConf.is_dict(settings._get_node(name)):  # not through interpolations: those are other parts
            _without_check(settings[name])
    return settings


def _summarizer(config: DictConfig) -> DictConfig:
    """The configuration of the summarizer behind the run's rate limit and cache; runs of older versions have neither.

    The cache asks first: what it holds costs nothing. In memory each language has a cache of its own.
    """
    wrapped: DictConfig = config.summarizer
    package = "ctxbench.context.summarizers"
    if config.get("rate_limit") is not None:
        limited = {"limit": config.rate_limit, "counted_in": config.rate_limit_in}
        wrapped = OmegaConf.create(
            {"_target_": f"{package}.limited.LimitedSummarizer", "summarizer": wrapped, **limited}
        )
    if config.get("summary_cache"):
        name = hashlib.sha256(OmegaConf.to_yaml(config.summarizer, resolve=True).encode()).hexdigest()
        parts = {"storage": "${storage}", "estimator": "${estimator}", "name": name}
        wrapped = OmegaConf.create({"_target_": f"{package}.cached.CachedSummarizer", "summarizer": wrapped, **parts})
    return wrapped
