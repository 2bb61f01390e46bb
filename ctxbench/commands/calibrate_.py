"""`python -m ctxbench calibrate tokenizer=NAME dataset=... -o weights.json`: fits `calibrated` to your data."""

import argparse
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from ctxbench.files import write_atomic

HELP = "fit the weights of the `calibrated` estimator to a tokenizer and a dataset"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("overrides", nargs="*", help="settings, such as tokenizer=llama3 dataset.path=mine.jsonl")
    parser.add_argument("-o", "--output", type=Path, default=Path("calibrated.json"), help="the file to write")
    parser.add_argument("--tokenizers", help="several at once: names with commas between, instead of tokenizer=")
    parser.add_argument("--data", help="what to say of where the data is from; by default its name and hash")


def run(arguments: argparse.Namespace) -> int:
    """Fit, write the file, and print the error on every fifth text, which was not fitted on."""
    from ctxbench.app import composed, dataset_facts
    from ctxbench.parts import build_dataset, build_option, build_tokenizer
    from ctxbench.tokens.calibration import fit, labelled_texts
    from ctxbench.tokens.estimators.calibrated import Calibrated, load_weights

    config, _ = composed(arguments.overrides)
    dataset = build_dataset(config.dataset)
    names = arguments.tokenizers.split(",") if arguments.tokenizers else []
    tokenizers = [build_option("tokenizer", name) for name in names] or [build_tokenizer(config.tokenizer)]
    labels = labelled_texts(dataset.conversations)
    held_out = dict(list(labels.items())[::5])
    used = {text: label for text, label in labels.items() if text not in held_out}
    facts = dataset_facts(dataset)
    data = arguments.data or f"{facts['name']}, {facts['conversations']} conversations, sha256 {facts['sha256'][:12]}"
    weights = fit(used, tokenizers, fitted=f"{datetime.now(UTC):%Y-%m-%d}", data=data)
    with write_atomic(arguments.output) as stream:
        stream.write(msgspec.json.encode(weights) + b"\n")
    load_weights.cache_clear()
    print(f"{len(used):,} texts in {len(weights.profiles)} profiles; error on {len(held_out):,} texts not fitted on:")
    for tokenizer in tokenizers:
        estimator = Calibrated(tokenizer.name, str(arguments.output))
        texts = list(held_out)
        tokens, sizes = tokenizer.count_batch(texts), estimator.sizes_of_texts(texts)
        wrong = sum(abs(size / 1000 - count) for size, count in zip(sizes, tokens, strict=True))
        print(f"  {tokenizer.name}: mean absolute error {wrong / sum(tokens):.1%} of the tokens")
    print(f"written: {arguments.output}; use it: estimator=calibrated estimator.weights={arguments.output}")
    return 0
