"""The same history gives the same context in every process and on every processor."""

import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256

import numpy as np

from ctxbench.context.storage.base import pack
from ctxbench.context.strategies.anchored import Anchored
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.context.strategies.density import Density
from ctxbench.context.strategies.hierarchical import Hierarchical
from ctxbench.context.strategies.importance import Importance
from ctxbench.context.strategies.prune_words import PruneWords
from ctxbench.context.strategies.running_summary import RunningSummary
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.summarizers.extractive import ExtractiveSummarizer
from ctxbench.conversation.dataset import load_dataset
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import ROOT


def contexts() -> Iterator[str]:
    """Digests of what each strategy keeps of some conversations."""
    estimator = Chars4()
    summarizer = ExtractiveSummarizer(estimator)
    strategies: list[CompressionStrategy] = [made(estimator) for made in (Importance, Density, PruneWords)]
    strategies += [made(estimator, summarizer) for made in (RunningSummary, Hierarchical, Anchored)]
    strategies.append(SmartSummary(estimator, summarizer, 6, 5))
    for conversation in load_dataset("core").conversations[::18]:
        for strategy in strategies:
            context = strategy.compress(conversation.messages, estimator.estimate(conversation.messages) // 4)
            yield f"{type(strategy).__name__} {conversation.id} {sha256(b''.join(map(pack, context))).hexdigest()}"


def elsewhere(**settings: str) -> list[str]:
    """The same from a process with these settings."""
    command = [sys.executable, "-c", f"from {__name__} import contexts; print(*contexts(), sep='\\n')"]
    environment = os.environ | settings
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=120)
    return result.stdout.splitlines()


def test_contexts_do_not_depend_on_the_process_or_the_processor() -> None:
    """The order of a set changes with the hash seed, the last digit of a sum or a logarithm with the processor."""
    plain = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",
    }
    here = elsewhere(PYTHONHASHSEED="1")
    assert len(here) == 5 * 7
    assert here == elsewhere(PYTHONHASHSEED="2", **plain)
