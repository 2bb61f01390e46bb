"""Speed and memory of reading a large JSON-lines file.

    python -m tests.benchmarks.bench_reading [MEGABYTES]

Writes a file of that size (1,000 by default) from the bundled conversations into a
temporary folder and reads it. Exits with 1 below 40 MB/s or above 200 MB of memory.
"""

import resource
import sys
import tempfile
import time
from pathlib import Path

import msgspec

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.jsonl import read_conversations
from ctxbench.conversation.model import conversation_to_dict


def write(path: Path, megabytes: int) -> None:
    raws = [conversation_to_dict(one) for one in load_dataset("core").conversations]
    written = number = 0
    with path.open("wb") as stream:
        while written < megabytes * 1_000_000:
            for raw in raws:
                written += stream.write(msgspec.json.encode(raw | {"id": f"{raw['id']}-{number}"}) + b"\n")
            number += 1


def main() -> int:
    """Write, read, print, compare."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.jsonl"
        write(path, megabytes)
        started = time.perf_counter()
        count = sum(1 for _ in read_conversations(path))
        speed = path.stat().st_size / 1e6 / (time.perf_counter() - started)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{count:,} conversations: {speed:.0f} MB/s (at least 40), {memory:.0f} MB of memory (at most 200)")
    return int(speed < 40 or memory > 200)


if __name__ == "__main__":
    sys.exit(main())
