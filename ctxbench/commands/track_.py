"""`python -m ctxbench track`: is any estimator worse than it was? Keeps the baseline and the history."""

import argparse
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines, decode_json, write_atomic

HELP = "compare the error of every estimator with the baseline; exit code 1 when one is worse"
SHOWN = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("overrides", nargs="*", help="settings of the estimation run, such as dataset.limit=5")
    parser.add_argument("--results", type=Path, default=Path("results"), help="folder of baseline/ and history/")
    parser.add_argument("--update", action="store_true", help="write a new baseline and append to the history")
    parser.add_argument("--plot", action="store_true", help="draw the history, with change points")


def run(arguments: argparse.Namespace) -> int:
    """Measure and compare, or update, or plot."""
    baseline = arguments.results / "baseline" / "estimation.json"
    history = arguments.results / "history" / "estimation.jsonl"
    if arguments.plot:
        return _plot(history)
    from ctxbench.stats.history import worse

    if arguments.update:
        return _update(_measure(arguments.overrides), baseline, history)
    before = _read_baseline(baseline)  # first: measuring takes a while
    now = _measure(arguments.overrides)
    if before[0].dataset != now[0].dataset:
        print(f"note: the baseline is of other data ({before[0].dataset}; now {now[0].dataset})")
    changes = worse(before, now)
    for change in changes[:SHOWN]:
        name = " / ".join(change.record)
        print(f"worse: {name}: {change.metric} {change.before:+.3f} -> {change.after:+.3f}: {change.why}")
    if len(changes) > SHOWN:
        print(f"... and {len(changes) - SHOWN} more")
    missing = {one.key for one in before} - {one.key for one in now}
    if missing:
        print(f"note: {len(missing)} records of the baseline are not measured now, such as {' / '.join(min(missing))}")
    print(f"{len(now):,} records compared with {baseline}: {len(changes)} metrics are worse")
    return 1 if changes else 0


def _measure(overrides: list[str]) -> list[Any]:
    from ctxbench.app import composed, describe
    from ctxbench.parts import build_dataset
    from ctxbench.runs.folder import RunFolder
    from ctxbench.stats.history import records
    from ctxbench.tasks import estimation

    config, choices = composed(["task=estimation", *overrides])
    dataset = build_dataset(config.dataset)
    with tempfile.TemporaryDirectory() as name:
        described = describe(config, choices, dataset)
        folder = RunFolder.create(Path(name), described)
        estimation.run(config, choices, dataset, folder)
        summary = estimation.summary_of(folder)
    about = {
        "commit": described["git"]["commit"],
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
        "dataset": f"{described['dataset']['name']} {described['dataset']['sha256'][:12]}",
    }
    return records(summary, about, described["packages"])


def _read_baseline(path: Path) -> list[Any]:
    from ctxbench.stats.history import SCHEMA_VERSION, Record

    if not path.is_file():
        raise CtxbenchError(f"{path}: there is no baseline; make one with: python -m ctxbench track --update")
    try:
        found = msgspec.json.decode(path.read_bytes())
        if found["schema_version"] != SCHEMA_VERSION:
            raise CtxbenchError(f"{path} has schema version {found['schema_version']}; make a new one with --update")
        return msgspec.convert(found["records"], list[Record])
    except (msgspec.MsgspecError, KeyError, TypeError) as error:
        raise CtxbenchError(f"{path}: not a baseline ({error}); make a new one with --update") from None


def _update(now: list[Any], baseline: Path, history: Path) -> int:
    from ctxbench.stats.history import SCHEMA_VERSION

    content = msgspec.json.encode({"schema_version": SCHEMA_VERSION, "records": now})
    with write_atomic(baseline) as stream:
        stream.write(msgspec.json.format(content, indent=1) + b"\n")
    history.parent.mkdir(parents=True, exist_ok=True)
    append_lines(history, b"".join(msgspec.json.encode(record) + b"\n" for record in now))
    print(f"{len(now):,} records written to {baseline} and appended to {history}")
    return 0


def _plot(history: Path) -> int:
    from ctxbench.report.history_plot import plot_history
    from ctxbench.stats.history import SCHEMA_VERSION, Record

    records, others = [], 0
    for number, line in enumerate(history.read_bytes().splitlines() if history.is_file() else [], start=1):
        raw = decode_json(line, f"{history}:{number}")
        if not isinstance(raw, dict) or raw.get("schema_version") != SCHEMA_VERSION:
            others += 1
            continue
        try:
            records.append(msgspec.convert(raw, Record))
        except msgspec.ValidationError as error:
            raise CtxbenchError(f"{history}:{number}: not a record: {error}") from None
    if others:
        print(f"note: {others} lines of {history} are of another schema version and were left out", file=sys.stderr)
    if not records:
        raise CtxbenchError(f"{history}: the history is empty; python -m ctxbench track --update begins it")
    for path in plot_history(records, history.parent):
        print(f"written: {path}")
    return 0
