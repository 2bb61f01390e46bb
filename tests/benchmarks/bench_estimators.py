"""Speed of `calibrated` against tiktoken, and of the fast tokenizer backend, in one process.

    python -m tests.benchmarks.bench_estimators

Prints ratios of times on the bundled conversations and exits with 1 when `calibrated`
takes more than a third of tiktoken's time.
"""

import sys

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import message_texts
from ctxbench.experiments.speed import least
from ctxbench.tokens.estimators.calibrated import BATCH, Calibrated
from ctxbench.tokens.vocab import tiktoken_encoding


def main() -> int:
    """Measure, print, compare."""
    messages = [message for one in load_dataset("core").conversations for message in one.messages]
    texts = [text for message in messages for text in message_texts(message)[1:]]
    calibrated, slow, fast = Calibrated(), tiktoken_encoding("o200k_base"), tiktoken_encoding("o200k_base", "gigatoken")
    batches = [texts[start : start + BATCH] for start in range(0, len(texts), BATCH)]
    exact = least(lambda: slow.count_uncached(texts))
    ratio = least(lambda: [calibrated.sizes_of_texts(batch) for batch in batches]) / exact
    print(f"calibrated over tiktoken, in batches: {ratio:.3f} (at most 0.333)")
    print(f"gigatoken over tiktoken: {least(lambda: fast.count_uncached(texts)) / exact:.3f}")
    slow.count_batch(texts)
    print(f"looking up over counting: {least(lambda: slow.count_batch(texts)) / exact:.4f}")
    return int(ratio > 1 / 3)


if __name__ == "__main__":
    sys.exit(main())
