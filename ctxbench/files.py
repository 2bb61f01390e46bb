"""Files that are whole or absent, lines that are whole or absent, and where caches are."""

import codecs
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import msgspec

from ctxbench.errors import CtxbenchError


@contextmanager
def write_atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a file beside `path` and rename it to `path` when the block ends without an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(aside, 0o666 & ~_umask())  # mkstemp makes private files; results are shared
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def append_lines(path: Path, lines: bytes) -> None:
    """Append whole lines in one write, so that two writers never mix within a line."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
        try:
            view = memoryview(lines)
            while view:
                view = view[os.write(handle, view) :]
        finally:
            os.close(handle)
    except OSError as error:  # a failed write does not know its file's name
        raise CtxbenchError(f"{path}: {error.strerror}") from None


@contextmanager
def open_lines(path: Path) -> Iterator[IO[bytes]]:
    """Open a text file for its lines as bytes, without a byte-order mark; says when it is UTF-16."""
    if not path.is_file():
        raise CtxbenchError(f"{path}: no such file")
    with path.open("rb") as stream:
        start = stream.read(3)
        if start[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            raise CtxbenchError(f"{path}: the file is UTF-16; convert it to UTF-8")
        stream.seek(3 if start == codecs.BOM_UTF8 else 0)
        yield stream


def decode_json(data: bytes, place: str) -> Any:
    """A JSON value from UTF-8 bytes; the error says where and what, on one line."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        try:
            data.decode()
        except UnicodeDecodeError as fault:
            raise CtxbenchError(f"{place}: not UTF-8 at byte {fault.start}; convert the file to UTF-8") from None
        end = "; the end of the file or line is missing" if "truncated" in str(error) else ""
        raise CtxbenchError(f"{place}: {error}{end}") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def cache_folder(name: str) -> Path:
    """A folder for things that can be made again: `$CTXBENCH_CACHE`, or the user's cache folder."""
    import platformdirs

    base = os.environ.get("CTXBENCH_CACHE") or platformdirs.user_cache_dir("ctxbench", appauthor=False)
    for candidate in (Path(base), Path(tempfile.gettempdir()) / "ctxbench"):
        try:
            (candidate / name).mkdir(parents=True, exist_ok=True)
            return candidate / name
        except OSError:
            continue  # a home that cannot be written to; the temporary folder serves
    raise CtxbenchError(f"no folder for cached files: {base} cannot be written; set CTXBENCH_CACHE")
