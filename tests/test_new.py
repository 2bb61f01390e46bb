"""`ctxbench new strategy`: what it writes works as it stands, and its test can fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.test_cli import Run, run
from tests.test_plugins import NO_PROBES, plain

__all__ = ["run"]  # a fixture


def outcome_of_its_test(folder: Path) -> "subprocess.CompletedProcess[str]":
    settings = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_my_first_one.py"],
        cwd=folder, env=os.environ | settings,
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_new_strategy_runs_and_its_test_passes_and_can_fail(run: Run, tmp_path: Path) -> None:
    code, out, err = run("new", "strategy", "my_first_one")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "written: my_first_one.py",
        "written: test_my_first_one.py",
        "run it:  python -m ctxbench strategy.path=my_first_one.py:MyFirstOne",
        "test it: python -m pytest test_my_first_one.py",
    ]
    result = outcome_of_its_test(tmp_path)
    assert result.returncode == 0, result.stdout
    assert "4 passed" in result.stdout
    code, out, err = run("strategy.path=my_first_one.py:MyFirstOne", "strategy.settings.head=2", *plain(tmp_path))
    assert (code, err) == (0, NO_PROBES)
    assert "strategy MyFirstOne" in out
    source = (tmp_path / "my_first_one.py").read_text()
    assert "if not draft.add(unit)" in source
    (tmp_path / "my_first_one.py").write_text(source.replace("if not draft.add(unit)", "if not draft.add(unit[:1])"))
    result = outcome_of_its_test(tmp_path)
    assert result.returncode == 1
    assert "a tool call lost its result, or a result its call" in result.stdout


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("3rd", "'3rd' cannot name a Python file and a class; give a name such as my_strategy"),
        ("my-strategy", "cannot name a Python file"),
        ("class", "cannot name a Python file"),
        ("a/b", "cannot name a Python file"),
        ("__", "cannot name a Python file"),
        ("json", "json.py would hide the installed module json; give another name"),
        ("ctxbench", "would hide the installed module"),
        ("there", "test_there.py: the file is already there; remove it or give another name"),
    ],
)
def test_what_cannot_be_written_is_refused(run: Run, tmp_path: Path, name: str, what: str) -> None:
    (tmp_path / "test_there.py").write_text("mine")
    code, out, err = run("new", "strategy", name)
    assert (code, out) == (2, "")
    assert what in err
    assert [file.name for file in tmp_path.iterdir()] == ["test_there.py"]
    assert (tmp_path / "test_there.py").read_text() == "mine"
