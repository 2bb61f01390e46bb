"""Fits the weights that come with the `calibrated` estimator.

    python -m tests.fit_calibrated DATA [OUT.json]

DATA is a folder with the public data sets `ntrex`, `mtbench-multilingual`, `tau-bench`,
`swe-agent`, `xquad`, `functionchat` and `kdconv`. Only every second line, question or run is
fitted on; the others and all bundled conversations stay unseen. Base64, hashes, logs and
emoji are generated.
"""

import base64
import random
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import msgspec

from ctxbench.conversation.importers.registry import import_conversations
from ctxbench.conversation.model import Conversation, Message
from ctxbench.files import write_atomic
from ctxbench.parts import build_option
from ctxbench.tokens.calibration import fit, labelled_texts
from ctxbench.tokens.estimators.calibrated import SHIPPED

TOKENIZERS = ("o200k_base", "cl100k_base", "qwen3.6")
DATA = (
    ("lines", "ntrex"), ("mt_bench", "mtbench-multilingual"), ("tau_bench", "tau-bench"), ("swe_agent", "swe-agent"),
    ("squad", "xquad"), ("functionchat", "functionchat"), ("kdconv", "kdconv"),
)  # fmt: skip
DATE = "2026-11-30"


def half(items: Iterable[Conversation], which: int) -> Iterator[Conversation]:
    """Every second conversation: 0 is fitted on, 1 is not."""
    return islice(items, which, None, 2)


def generated(seed: int) -> Iterator[Conversation]:
    """Texts of kinds that public conversations hardly have."""
    rng = random.Random(seed)
    words = [
        "start",
        "stop",
        "retry",
        "worker",
        "queue",
        "timeout",
        "commit",
        "offset",
        "user",
        "order",
        "cache",
        "lock",
        "batch",
        "index",
        "reload",
        "shard",
    ]
    levels = ("INFO", "WARN", "ERROR", "DEBUG")
    pictures = [chr(code) for code in (*range(0x1F300, 0x1F650), *range(0x1F680, 0x1F6C6), 0x2705, 0x2764, 0x2B50)]

    def log_line() -> str:
        time = f"2026-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}T{rng.randint(0, 23):02}:{rng.randint(0, 59):02}"
        rest = " ".join(f"{rng.choice(words)}={rng.randint(0, 99999)}" for _ in range(rng.randint(1, 4)))
        return f"{time}:{rng.randint(0, 59):02}Z {rng.choice(levels)} {rng.choice(words)}.{rng.choice(words)} {rest}"

    for number in range(300):
        size = rng.randint(60, 400)
        texts = [
            base64.b64encode(rng.randbytes(size)).decode(),
            rng.randbytes(size).hex(),
            "\n".join(log_line() for _ in range(rng.randint(4, 30))),
            "".join(rng.choice(pictures) + rng.choice(["", "", " "]) for _ in range(rng.randint(12, 120))),
        ]
        yield Conversation(f"generated-{seed}-{number}", "en", "generated", [Message("tool", text) for text in texts])


def main() -> None:
    """Fit and write."""
    folder, out = Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else SHIPPED
    conversations = [one for name, path in DATA for one in half(import_conversations(name, folder / path), 0)]
    conversations += generated(1)
    tokenizers = [build_option("tokenizer", name) for name in TOKENIZERS]
    about = "every second record of NTREX-128, MT-bench, tau-bench, SWE-agent, XQuAD, FunctionChat, KdConv; generated"
    weights = fit(labelled_texts(conversations), tokenizers, fitted=DATE, data=about)
    with write_atomic(out) as stream:
        stream.write(msgspec.json.encode(weights) + b"\n")
    print(f"{sum(weights.texts):,} texts, {len(weights.profiles)} profiles, written: {out}")


if __name__ == "__main__":
    main()
