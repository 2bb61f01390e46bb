"""Files that are whole or absent, and lines that are whole or absent."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

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
