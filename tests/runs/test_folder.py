from pathlib import Path

import msgspec
import pytest

from ctxbench.errors import CtxbenchError
from ctxbench.runs.folder import RunFolder
from ctxbench.runs.provenance import git_state, package_versions, sha256_of
from ctxbench.runs.units import Tables, Unit, run_units


class Row(msgspec.Struct):
    conversation: str
    budget: str
    value: int


def work(unit: Unit) -> Tables:
    return {"samples": [Row(unit.conversation, unit.budget or "", index) for index in range(3)], "contexts": []}


UNITS = [Unit(name, budget) for budget in ("0.1", "0.5") for name in "abc"]


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", {"task": "test"})


def test_all_units_are_done_in_order(folder: RunFolder) -> None:
    run_units(folder, UNITS, work)
    expected = [{"conversation": u.conversation, "budget": u.budget, "value": v} for u in UNITS for v in range(3)]
    assert folder.rows("samples") == expected


@pytest.mark.parametrize("workers", [1, 3])
def test_a_run_killed_at_any_byte_ends_with_the_same_samples(folder: RunFolder, tmp_path: Path, workers: int) -> None:
    run_units(folder, UNITS, work)
    whole = (folder.path / "samples.jsonl").read_bytes()
    done = (folder.path / "done.jsonl").read_bytes()
    for step, cut in enumerate(range(0, len(whole), 97)):
        other = RunFolder.create(tmp_path / f"killed-{step}", {"task": "test"})
        (other.path / "samples.jsonl").write_bytes(whole[:cut])
        # A unit is noted as done after its rows: at most so many are noted, the next one half written.
        noted = whole[:cut].count(b"\n") // 3
        (other.path / "done.jsonl").write_bytes(b"".join(done.splitlines(keepends=True)[:noted]) + b'{"conv')
        asked: list[Unit] = []

        def counted(unit: Unit, asked: list[Unit] = asked) -> Tables:
            asked.append(unit)
            return work(unit)

        run_units(other, UNITS, counted, workers=workers)
        assert (other.path / "samples.jsonl").read_bytes() == whole
        assert (other.path / "done.jsonl").read_bytes() == done
        assert len(asked) == len(UNITS) - noted


def test_a_failing_unit_keeps_those_before_it(folder: RunFolder) -> None:
    def failing(unit: Unit) -> Tables:
        if unit == UNITS[2]:
            raise CtxbenchError("the third one breaks")
        return work(unit)

    with pytest.raises(CtxbenchError):
        run_units(folder, UNITS, failing)
    assert len(folder.rows("done")) == 2
    run_units(folder, UNITS, work)
    assert len(folder.rows("samples")) == 18


def test_a_resumed_run_that_is_complete_asks_for_nothing(folder: RunFolder) -> None:
    run_units(folder, UNITS, work)
    before = folder.rows("samples")
    run_units(folder, UNITS, lambda unit: pytest.fail("it was done"))
    assert folder.rows("samples") == before


def test_a_folder_with_a_run_is_not_overwritten(folder: RunFolder) -> None:
    with pytest.raises(CtxbenchError, match="holds a run already; continue it with resume="):
        RunFolder.create(folder.path, {})


def test_what_is_no_run_or_another_version_is_told(folder: RunFolder, tmp_path: Path) -> None:
    with pytest.raises(CtxbenchError, match="is not a run"):
        RunFolder.open(tmp_path)
    folder.write_json("run.json", {"schema_version": 99})
    with pytest.raises(CtxbenchError, match="schema version 99"):
        RunFolder.open(folder.path)
    (folder.path / "run.json").write_text("{")
    with pytest.raises(CtxbenchError, match=r"run\.json"):
        RunFolder.open(folder.path)


def test_a_broken_row_is_told_with_its_line(folder: RunFolder) -> None:
    (folder.path / "samples.jsonl").write_text('{"a": 1}\nbroken\n')
    with pytest.raises(CtxbenchError, match=r"samples\.jsonl:2"):
        folder.rows("samples")


def test_provenance_changes_with_contents_and_order_but_not_with_the_order_of_keys() -> None:
    assert len({sha256_of(items) for items in ([1], [2], [1, 2], [2, 1], [])}) == 5
    assert sha256_of([{"a": 1, "b": 2}]) == sha256_of([{"b": 2, "a": 1}])
    assert "pandas" in package_versions()
    assert set(git_state()) == {"commit", "dirty"}
