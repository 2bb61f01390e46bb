"""The command `compare`, on small runs that are written by hand."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxbench.commands import compare_
from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines
from ctxbench.runs.folder import RunFolder

Compare = Callable[..., tuple[int, str]]


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Compare:
    """Runs the command: exit code and stdout."""

    def call(a: Path, b: Path, **options: Any) -> tuple[int, str]:
        settings = {"margin": 0.05, "json": False, "fail_on_regression": False, **options}
        code = compare_.run(argparse.Namespace(run_a=a, run_b=b, **settings))
        return code, capsys.readouterr().out

    return call


def make_run(
    path: Path,
    retained: Sequence[bool | None],
    *,
    tokens: int = 100,
    strategy: str = "sliding",
    sha: str = "1",
    **row: Any,
) -> Path:
    """A run of four conversations in turn, a probe a value."""
    described = {
        "task": "retention",
        "config": {"strategy": {"name": strategy}, "budget": 0.25, "results_dir": str(path)},
        "dataset": {"name": "core", "sha256": sha * 64},
        "packages": {"numpy": "2.0"},
    }
    folder = RunFolder.create(path, described)
    lines = [
        {
            "conversation": "abcd"[index % 4], "probe": f"p{index}", "category": "fact", "budget": "0.25", "round": 0,
            "retained": value, "recall": None, "answered": None, "tokens_context": tokens, **row,
        }
        for index, value in enumerate(retained)
    ]  # fmt: skip
    append_lines(folder.path / "samples.jsonl", b"".join(json.dumps(line).encode() + b"\n" for line in lines))
    return path


@pytest.fixture
def good(tmp_path: Path) -> Path:
    return make_run(tmp_path / "good", [True] * 40)


@pytest.fixture
def bad(tmp_path: Path) -> Path:
    """Of ten probes in each conversation four or six are lost."""
    lost = [index // 4 < (4, 6)[index % 2] for index in range(40)]
    return make_run(tmp_path / "bad", [not one for one in lost], tokens=90, strategy="smart")


def test_what_is_printed(compare: Compare, good: Path, bad: Path) -> None:
    code, out = compare(good, bad)
    assert code == 0
    lines = out.splitlines()
    assert lines[:4] == [
        f"A: {good}",
        f"B: {bad}",
        "differs: strategy.name: sliding -> smart",
        "40 probes are shared; 0 only in A, 0 only in B",
    ]
    cells = next(line.split() for line in lines if line.startswith(" retained "))
    assert cells[:6] == ["retained", "40", "4", "1.000", "0.500", "-0.500"]
    assert cells[-1] == "worse"
    cells = next(line.split() for line in lines if line.startswith(" tokens_context "))
    assert cells[3:] == ["100", "90", "-10", "[-10,", "-10]", "0.1250", "0.2500", "–", "better"]
    assert "no longer retained: 20" in lines
    assert sum(line.startswith("  ") and line.endswith("(fact)") for line in lines) == 15
    assert "  a/p0 (fact)" in lines
    assert "  ... and 5 more" in lines
    assert "newly retained" not in out
    assert lines[-1].startswith("retained: worse: 1.000 -> 0.500, difference -0.500 [-0.")
    assert lines[-1].endswith(", 40 probes")


def test_a_regression_is_exit_code_1_only_when_asked_for(compare: Compare, good: Path, bad: Path) -> None:
    assert compare(good, bad)[0] == 0
    assert compare(good, bad, fail_on_regression=True)[0] == 1
    assert compare(good, bad, fail_on_regression=True, json=True)[0] == 1
    code, out = compare(bad, good, fail_on_regression=True)  # more tokens are no regression of answers
    assert code == 0
    assert "newly retained: 20" in out


def test_a_regression_of_answers_counts_too(compare: Compare, tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [True] * 8, answered=True)
    b = make_run(tmp_path / "b", [True] * 8, answered=False)
    code, out = compare(a, b, fail_on_regression=True)
    assert code == 1
    assert out.splitlines()[-1].startswith("retained: equivalent: ")


def test_json_is_all_of_it_and_nothing_else(compare: Compare, good: Path, bad: Path) -> None:
    code, out = compare(good, bad, json=True)
    assert code == 0
    found = json.loads(out)
    assert {name: found[name] for name in ("a", "b", "margin", "shared", "only_a", "only_b", "data_differ")} == {
        "a": str(good), "b": str(bad), "margin": 0.05, "shared": 40, "only_a": 0, "only_b": 0, "data_differ": False,
    }  # fmt: skip
    assert found["differences"] == [{"name": "strategy.name", "a": "sliding", "b": "smart"}]
    assert [one["metric"] for one in found["metrics"]] == ["retained", "tokens_context"]
    retained = found["metrics"][0]
    assert (retained["difference"], retained["p"], retained["p_adjusted"]) == (-0.5, 0.125, 0.25)
    assert retained["low"] < -0.5 < retained["high"] < 0
    assert len(found["flipped"]) == 20
    assert found["flipped"][0] == {
        "conversation": "a", "probe": "p0", "category": "fact", "before": True, "after": False,
    }  # fmt: skip
    assert found["verdict"] == "worse"


def test_a_run_is_equivalent_to_itself(compare: Compare, good: Path) -> None:
    code, out = compare(good, good, fail_on_regression=True)
    assert code == 0
    assert "settings, data and package versions are the same" in out
    assert out.splitlines()[-1] == (
        "retained: equivalent: 1.000 -> 1.000, difference +0.000 [+0.000, +0.000], 40 probes"
    )


def test_data_that_differ_and_probes_that_one_run_has_alone_are_told(
    compare: Compare, good: Path, tmp_path: Path
) -> None:
    other = make_run(tmp_path / "other", [True] * 42, sha="2")
    code, out = compare(good, other)
    assert code == 0
    assert "40 probes are shared; 0 only in A, 2 only in B" in out
    assert f"differs: data.sha256: {'1' * 59}… -> {'2' * 59}…" in out
    assert "note: the data differ" in out
    assert json.loads(compare(good, other, json=True)[1])["data_differ"] is True


def test_one_conversation_has_no_interval(compare: Compare, tmp_path: Path) -> None:
    a = make_run(tmp_path / "a", [True] * 4, conversation="a")
    b = make_run(tmp_path / "b", [True, True, False, False], conversation="a")
    out = compare(a, b)[1]
    assert out.splitlines()[-1] == "retained: cannot tell: 1.000 -> 0.500, difference -0.500, 4 probes"
    assert json.loads(compare(a, b, json=True)[1])["metrics"][0]["low"] is None


def test_probes_without_answers_have_no_verdict(compare: Compare, tmp_path: Path) -> None:
    a, b = (make_run(tmp_path / name, [None] * 4) for name in "ab")
    assert compare(a, b)[1].splitlines()[-1] == "retained: no verdict: no probe is scored in both runs"
    assert json.loads(compare(a, b, json=True)[1])["verdict"] is None


def test_runs_that_cannot_be_compared_are_one_line(compare: Compare, good: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", [True] * 4, conversation="elsewhere")
    estimation = tmp_path / "estimation"
    RunFolder.create(estimation, {"task": "estimation"})
    for b, options, what in [
        (other, {}, "share no probes"),
        (estimation, {}, "is an estimation run"),
        (tmp_path / "nowhere", {}, "is not a run"),
        (good, {"margin": -1.0}, "--margin is -1.0; give 0 or more"),
        (good, {"margin": float("nan")}, "--margin is nan"),
    ]:
        with pytest.raises(CtxbenchError, match=what) as caught:
            compare(good, b, **options)
        assert "\n" not in str(caught.value)


def test_the_arguments() -> None:
    parser = argparse.ArgumentParser()
    compare_.add_arguments(parser)
    assert vars(parser.parse_args(["x", "y"])) == {
        "run_a": Path("x"), "run_b": Path("y"), "margin": 0.05, "json": False, "fail_on_regression": False,
    }  # fmt: skip
