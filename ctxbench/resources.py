"""Finds the configuration and the datasets that come with the package.

In a checkout they stand at the top level; in an installed wheel inside the package.
"""

from pathlib import Path

from ctxbench.errors import CtxbenchError, unknown_name

_PACKAGE = Path(__file__).parent


def configs_folder() -> Path:
    """The folder of Hydra groups."""
    return _folder("configs")


def datasets_folder() -> Path:
    """The folder of bundled datasets."""
    return _folder("datasets")


def group_options(group: str) -> dict[str, Path]:
    """The options of a configuration group, by name, and their files."""
    folder = configs_folder() / group
    if not folder.is_dir():
        raise unknown_name("group", group, groups())
    return {file.stem: file for file in sorted(folder.glob("*.yaml"))}


def groups() -> list[str]:
    """The names of the configuration groups."""
    return sorted(folder.name for folder in configs_folder().iterdir() if folder.is_dir())


def _folder(name: str) -> Path:
    for candidate in (_PACKAGE / name, _PACKAGE.parent / name):
        if candidate.is_dir():
            return candidate
    raise CtxbenchError(f"the installation is incomplete: {_PACKAGE / name} is missing; install ctxbench again")
