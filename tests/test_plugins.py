"""Parts of the user's own and of installed packages, as they are used on the command line."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.parts import build_option, option_names
from ctxbench.plugins import with_implied
from tests.conftest import ROOT, chat
from tests.test_cli import Run, folder_of, run

__all__ = ["run"]  # a fixture

PLUGIN = ROOT / "tests" / "plugin"

MINE = """
import nowhere_near
"""

BROKEN = """
from dataclasses import dataclass

@dataclass
class Forgets:
    keep: int = 3

    def compress(self, messages, max_tokens, *, session_id=None):
        return None if len(messages) > 20 else messages[-self.keep:]

class Fails:
    def __init__(self):
        self.table = {}["table"]

class Older:
    def compress(self, messages):
        return messages

def newest(messages):
    return [message for message in messages if message["role"] == "system"] + messages[-2:]

async def newest_later(messages, max_tokens):
    return newest(messages)
"""


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A file of the user's in the working folder."""
    (tmp_path / "mine.py").write_text(BROKEN)
    return tmp_path


NO_PROBES = "no probes in this dataset: nothing to score, only tokens are reported\n"


def plain(folder: Path) -> list[str]:
    """Settings for a dataset without probes, which is run fast."""
    write_conversations(folder / "plain.jsonl", [Conversation("a", "en", "", chat(*["Some words of a chat."] * 30))])
    return ["dataset.path=plain.jsonl", "budget=50"]


def rows(folder: Path, table: str = "samples") -> list[dict[str, Any]]:
    """The rows of a run, without what differs from run to run."""
    found = [json.loads(line) for line in (folder / f"{table}.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in ("latency_ms", "strategy")} for row in found]


def test_a_broken_strategy_is_told_by_name_and_the_run_goes_on(run: Run, mine: Path) -> None:
    code, out, err = run("strategy.path=mine.py:Forgets", "strategy.settings.keep=4", *plain(mine))
    assert code == 0
    folder = folder_of(out)
    contexts = rows(folder, "contexts")
    nothing = [row for row in contexts if row["failure"] == "misbehaved: Forgets returned None, not a list of messages"]
    dropped = [row for row in contexts if (row["failure"] or "").startswith("misbehaved: Forgets dropped a system")]
    assert nothing
    assert dropped
    assert {row["outcome"] for row in nothing + dropped} == {"kept"}
    lines = [line.partition(": misbehaved: Forgets ")[::2] for line in err.removeprefix(NO_PROBES).splitlines()]
    counts = {
        f"Forgets failed in {len(found)} of {len(contexts)} contexts (kept)": what
        for found, what in ((nothing, "returned None"), (dropped, "dropped a system message"))
    }
    assert len(lines) == 2
    assert all(what.startswith(counts[count]) for count, what in lines)
    described = json.loads((folder / "run.json").read_text())
    assert described["choices"]["strategy"] == "Forgets"
    assert described["config"]["strategy"]["settings"] == {"keep": 4}
    assert "strategy Forgets" in out


def test_functions_plain_and_async(run: Run, mine: Path) -> None:
    tables = []
    for name in ("newest", "newest_later"):
        code, out, err = run(f"strategy.target=mine.py:{name}", *plain(mine))
        assert (code, err) == (0, NO_PROBES)
        tables.append(rows(folder_of(out), "contexts"))
    assert tables[0] == tables[1]
    _, out, _ = run("strategy=sliding", "strategy.recent_messages=2", *plain(mine))
    assert tables[0] == rows(folder_of(out), "contexts")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["strategy.path=nowhere.py:Mine"], "nowhere.py: no such file"),
        (["strategy.path=mine.py:Mine"], r"unknown name in mine.py: 'Mine'; known: Fails, Forgets, Older, newest, newest_"),
        (["strategy.path=mine.py"], "say what to take from it, as in mine.py:NAME; it has Forgets, Fails, Older, newest"),
        (["strategy.path=needs.py:Mine"], r"needs.py cannot be loaded: ModuleNotFoundError: .*'nowhere_near' \(needs.py:2\)"),
        (["strategy.path=wrong.py:Mine"], r"wrong.py cannot be loaded: SyntaxError: .* \(wrong.py:1\)"),
        (["strategy.path=mine.py:Fails"], r"mine.py:Fails cannot be made: KeyError: 'table' \(mine.py:13\)"),
        (["strategy.path=mine.py:Older"], r"Older.compress takes \(messages\)"),
        (["strategy.path=mine.py:newest"], "is a function, not a class; give strategy=callable strategy.target=mine.py:newest"),
        (["strategy.target=mine.py:Older"], "is no function; a class is given as strategy=path strategy.path=mine.py:Older"),
        (
            ["strategy.path=mine.py:Forgets", "strategy.settings={kep: 1}"],
            "unexpected keyword argument 'kep'; its arguments: keep: int = 3",
        ),
        (["strategy.path=nowhere.Mine"], "no module named 'nowhere'; a file is given as FILE.py:NAME"),
        (["strategy.path=mine.py:Forgets", "on_failure=raise"], "ctxbench: compression failed: misbehaved: Forgets "),
        (["strategy=path"], "no value for strategy.path"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_line(run: Run, mine: Path, arguments: list[str], what: str) -> None:
    (mine / "needs.py").write_text(MINE)
    (mine / "wrong.py").write_text("def (:")
    code, _, err = run(*arguments, "dataset.limit=1")
    assert (code, err.count("\n")) == (2, 1)
    assert re.search(what, err), err


def test_what_overrides_imply() -> None:
    assert with_implied(["-m", "strategy.path=a.py:A", "budget=1"]) == [
        "-m",
        "strategy=path",
        "strategy.path=a.py:A",
        "budget=1",
    ]
    assert with_implied(["strategy=callable", "strategy.target=a.b"]) == ["strategy=callable", "strategy.target=a.b"]
    assert with_implied(["strategy.settings.x=1", "strategy.settings={}"]) == [
        "++strategy.settings.x=1", "++strategy.settings={}",
    ]  # fmt: skip
    assert with_implied(["strategy.summary_tokens=3"]) == ["strategy.summary_tokens=3"]


class Whole:
    """An estimator that cannot add up."""

    def estimate(self, messages: object) -> int:
        return 1


def test_an_estimator_that_cannot_be_compared_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxbench.parts.offered", lambda group: {"whole": None})
    monkeypatch.setattr("ctxbench.parts.option_node", lambda *_: {"_target_": f"{__name__}.Whole"})
    assert option_names("estimator", ["whole"]) == ["whole"]
    with pytest.raises(CtxbenchError, match=r"estimator whole must inherit ctxbench\.AdditiveEstimator"):
        build_option("estimator", "whole")


def ctxbench(folder: Path, site: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    """Run the program in a folder, with what is installed in `site`."""
    return subprocess.run(
        [sys.executable, "-m", "ctxbench", *arguments],
        cwd=folder, env=os.environ | {"PYTHONPATH": f"{site}{os.pathsep}{ROOT}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which the example package was installed with pip, without a network."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*command, "--disable-pip-version-check", "--target", str(folder), str(PLUGIN)], check=True)
    return folder


DIARY = "\n".join(f"Line {number} of a diary, in which little happens but much is said." for number in range(30))


def test_an_installed_package_adds_one_of_each_part(site: Path, tmp_path: Path) -> None:
    (tmp_path / "may.txt").write_text(DIARY)
    parts = ["estimator=words", "tokenizer=characters", "summarizer=first_words", "summarizer.words=1", "budget=100"]
    data = ["dataset=diary", "dataset.path=may.txt", "dataset.language=en"]
    tables = []
    for strategy in (
        ["strategy=newest", "strategy.keep=3"],
        [f"strategy.path={PLUGIN / 'ctxbench_example.py'}:Newest", "strategy.settings.keep=3"],
    ):
        done = ctxbench(tmp_path, site, *strategy, *parts, *data)
        assert (done.returncode, done.stderr) == (0, NO_PROBES)
        folder = tmp_path / folder_of(done.stdout)
        tables.append(rows(folder, "contexts"))
        assert json.loads((folder / "run.json").read_text())["packages"]["ctxbench-example"] == "1.2.3"
    assert tables[0] == tables[1]
    last = tables[0][-1]  # 29 messages, of which 26 are summarised by their first words
    assert (last["outcome"], last["kept"], last["added"]) == ("compressed", 3, 1)
    kept = [
        f"{role}{line}" for role, line in zip(("user", "assistant", "user"), DIARY.splitlines()[26:29], strict=True)
    ]
    assert last["tokens_context"] == len("".join(kept)) + len("user" + " / ".join(["Line"] * 26))


def test_plugins_are_compared_listed_and_import(site: Path, tmp_path: Path) -> None:
    (tmp_path / "may.txt").write_text(DIARY)
    settings = [
        "task=estimation",
        "task.estimators=[words,chars4]",
        "task.tokenizers=[characters]",
        "dataset.limit=1",
    ]
    done = ctxbench(tmp_path, site, "-m", *settings)  # a sweep draws no plots of its jobs
    assert (done.returncode, done.stderr) == (0, "")
    row = rows(next(tmp_path.glob("results/sweeps/*/0")))[0]
    assert row["tokens"] == {"characters": row["characters"]}
    assert set(row["estimates"]) == {"words", "chars4"}
    listed = ctxbench(tmp_path, site, "list").stdout
    assert re.search(r"^  newest +Keeps the system messages, .* newest\. \(package ctxbench-example\)$", listed, re.M)
    assert re.search(r"^  diary +diaries: a line a message, .* \(package ctxbench-example\)$", listed, re.M)
    done = ctxbench(tmp_path, site, "import", "diary", "may.txt", "-o", "out.jsonl", "--language", "en")
    assert (done.returncode, done.stderr) == (0, "")
    assert "messages: 30 read, 30 kept" in done.stdout
    assert json.loads((tmp_path / "out.jsonl").read_text())["messages"][1]["role"] == "assistant"


def test_a_broken_package_is_told_when_it_is_chosen_and_a_taken_name_is_refused(tmp_path: Path) -> None:
    info = tmp_path / "faulty-0.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: faulty\nVersion: 0.1\n")
    (tmp_path / "faulty.py").write_text("import nowhere_near\n")
    (info / "entry_points.txt").write_text("[ctxbench.strategies]\nodd = faulty:Odd\n")
    done = ctxbench(tmp_path, tmp_path, "strategy=odd", "dataset.limit=1")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "ctxbench: odd of the package faulty cannot be loaded: "
        "ModuleNotFoundError: No module named 'nowhere_near' (faulty.py:1)\n"
    )
    assert "  odd                broken: odd of the package faulty" in ctxbench(tmp_path, tmp_path, "list").stdout
    (info / "entry_points.txt").write_text("[ctxbench.strategies]\nsmart = faulty:Smart\n")
    done = ctxbench(tmp_path, tmp_path, "strategy=sliding", "dataset.limit=1")
    assert done.returncode == 2
    assert done.stderr.startswith(
        "ctxbench: the package faulty offers a strategy 'smart', which ctxbench itself has already; uninstall it"
    )
    assert "refused: ctxbench has this name itself (package faulty)" in ctxbench(tmp_path, tmp_path, "list").stdout
