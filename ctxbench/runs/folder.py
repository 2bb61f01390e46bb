"""A run's folder: what it was asked to do, and the rows it has so far.

Rows are only appended, whole lines at a time; everything else is written aside and
renamed. A run that was killed leaves a folder that can be read and resumed.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines, write_atomic
from ctxbench.runs.schema import SCHEMA_VERSION

Row = dict[str, Any]


class RunFolder:
    """The files of one run under `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, description: dict[str, Any]) -> "RunFolder":
        """Start a run: `run.json` says what it is."""
        folder = cls(path)
        if (path / "run.json").exists():
            raise CtxbenchError(f"{path} holds a run already; continue it with resume={path}")
        folder.write_json("run.json", {"schema_version": SCHEMA_VERSION, **description})
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open a run that exists; raises when it is none, or of another schema version."""
        folder = cls(path)
        if not (path / "run.json").is_file():
            raise CtxbenchError(f"{path} is not a run: it has no run.json")
        version = folder.description().get("schema_version")
        if version != SCHEMA_VERSION:
            raise CtxbenchError(
                f"{path} has schema version {version}; this program reads {SCHEMA_VERSION}: run it again"
            )
        return folder

    def description(self) -> dict[str, Any]:
        """The contents of `run.json`."""
        try:
            described: dict[str, Any] = msgspec.json.decode((self.path / "run.json").read_bytes())
        except msgspec.DecodeError as error:
            raise CtxbenchError(f"{self.path / 'run.json'}: {error}") from None
        return described

    def write_json(self, name: str, content: Any) -> None:
        """Write a JSON file of the folder, readable by people."""
        with write_atomic(self.path / name) as stream:
            stream.write(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")

    def append(self, name: str, rows: Iterable[msgspec.Struct]) -> None:
        """Append rows to `<name>.jsonl`, all of them in one write."""
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
        append_lines(self.path / f"{name}.jsonl", lines)

    def rows(self, name: str) -> list[Row]:
        """The rows of `<name>.jsonl`; a last line that was cut off by a kill is left out."""
        path = self.path / f"{name}.jsonl"
        if not path.is_file():
            return []
        rows = []
        for number, line in enumerate(path.read_bytes().splitlines(keepends=True), start=1):
            if not line.endswith(b"\n"):
                break
            try:
                rows.append(msgspec.json.decode(line))
            except msgspec.DecodeError as error:
                raise CtxbenchError(f"{path}:{number}: {error}") from None
        return rows

    def keep_rows(self, name: str, keep: Callable[[Row], bool]) -> None:
        """Rewrite `<name>.jsonl` with the rows for which `keep` is true, in their order."""
        path = self.path / f"{name}.jsonl"
        if path.is_file():
            rows = [row for row in self.rows(name) if keep(row)]
            with write_atomic(path) as stream:
                stream.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
