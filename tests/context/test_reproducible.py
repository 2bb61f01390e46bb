"""The same history gives the same context in every process and on every processor."""

import os
import subprocess
import sys

import numpy as np

from tests.conftest import ROOT

CONTEXTS = """
from hashlib import sha256
from ctxbench.conversation.dataset import load_dataset
from ctxbench.context.storage.base import pack
from tests.context.test_conformance import TOKENIZER, compressed
from ctxbench.tokens.tokenizers import count_messages
core = load_dataset("core").conversations
for name in sys.argv[1:]:
    for conversation in core[::18]:
        budget = count_messages(TOKENIZER, conversation.messages) // 4
        context = compressed(name, conversation.messages, budget)
        print(name, conversation.id, sha256(b"".join(map(pack, context or []))).hexdigest())
"""
NAMES = ("smart", "importance", "density", "prune_words", "running_summary", "hierarchical", "anchored")


def contexts(environment: dict[str, str]) -> list[str]:
    command = [sys.executable, "-c", "import sys" + CONTEXTS, *NAMES]
    result = subprocess.run(
        command, cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, check=True, timeout=120
    )
    return result.stdout.splitlines()


def test_contexts_do_not_depend_on_the_process_or_the_processor() -> None:
    """The order of sets changes with the hash seed, the last digit of a sum or a logarithm with the processor."""
    found = np.show_config(mode="dicts")["SIMD Extensions"].get("found", [])
    plain = {
        "NPY_DISABLE_CPU_FEATURES": " ".join(found),
        "OPENBLAS_CORETYPE": "Nehalem",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA",
    }
    here, there = contexts({"PYTHONHASHSEED": "1"}), contexts({"PYTHONHASHSEED": "2"} | plain)
    assert len(here) == len(NAMES) * 5
    assert here == there
