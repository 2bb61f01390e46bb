"""`ctxbench show` on small runs: what it prints is what the run's rows say."""

import argparse
import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from ctxbench.__main__ import main
from ctxbench.commands import show_
from ctxbench.conversation.jsonl import write_conversations
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import Reply
from ctxbench.report.case import message_fates
from tests.conftest import chat

Run = Callable[..., Path]
Show = Callable[..., tuple[str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """Runs an experiment in an empty folder: the folder of the run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["ctxbench"])

    def call(*arguments: str) -> Path:
        code = main(arguments)
        captured = capsys.readouterr()
        assert (code, captured.err) == (0, "")
        return Path(captured.out.strip().splitlines()[-1].removeprefix("run: "))

    return call


@pytest.fixture
def show(capsys: pytest.CaptureFixture[str]) -> Show:
    """Shows a run: stdout, stderr."""

    def call(folder: Path, **options: Any) -> tuple[str, str]:
        chosen = {"conversation": None, "probe": None, "budget": None, "lost": False} | options
        assert show_.run(argparse.Namespace(run=folder, **chosen)) == 0
        captured = capsys.readouterr()
        return captured.out, captured.err

    return call


def rows_of(folder: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"{name}.jsonl").read_text("utf-8").splitlines()]


CORE = ("dataset.limit=2", "dataset.languages=[en]", "budget=[0.25,0.5]")


@pytest.mark.parametrize(("storage", "write_back"), [("memory", "false"), ("sqlite", "true")])
def test_counts_and_verdicts_are_those_of_the_run(run: Run, show: Show, storage: str, write_back: str) -> None:
    folder = run(*CORE, f"storage={storage}", f"write_back={write_back}")
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for budget in ("0.25", "0.5"):
        out, err = show(folder, conversation="support-en", budget=budget)
        assert err == ""
        rows = [r for r in rows_of(folder, "contexts") if (r["conversation"], r["budget"]) == ("support-en", budget)]
        last = rows[-1]
        assert f"{last['kept']} kept, {last['dropped']} dropped, {last['added']} added" in out
        assert f"tokens {last['tokens_full']:,} → {last['tokens_context']:,}" in out
        fates = re.findall(r"^ *\d+[* ] \w+ +(kept|dropped) ", out, re.MULTILINE)
        assert (fates.count("kept"), fates.count("dropped")) == (last["kept"], last["dropped"])
        assert "[system] Previous conversation summary:\n" in out
        told = dict(re.findall(r"^probe (\S+) \(\w+\): (.*)$", out, re.MULTILINE))
        words = {True: "retained", False: "lost", None: "not scored"}
        scored = [r for r in rows_of(folder, "samples") if (r["conversation"], r["budget"]) == ("support-en", budget)]
        assert told == {row["probe"]: words[row["retained"]] for row in scored}
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_without_a_conversation_they_are_listed_the_worst_first(run: Run, show: Show) -> None:
    folder = run(*CORE)
    samples = [row for row in rows_of(folder, "samples") if row["budget"] == "0.25"]
    lost = [row for row in samples if row["retained"] is False]
    scored = [row for row in samples if row["retained"] is not None]
    lines = show(folder)[0].splitlines()
    assert lines[0] == f"budget 0.25: 2 conversations, {len(lost)} of {len(scored)} probes lost; the worst first"
    shares = [int(line.split()[0]) / (int(line.split()[0]) + int(line.split()[1])) for line in lines[2:]]
    assert len(shares) == 2
    assert shares == sorted(shares, reverse=True)
    listed = show(folder, lost=True)[0].splitlines()
    assert listed[0].startswith(f"budget 0.25: {len(lost)} probes lost")
    assert [line.split()[1:3] for line in listed[1:]] == [[row["conversation"], row["probe"]] for row in lost]


def tricky() -> Conversation:
    """Markup, an escape sequence, the same words twice, a value that was corrected, a probe in the middle."""
    messages = chat(
        "[bold]Deliver[/bold] on Monday \x1b[31mplease.",
        "Yes.",
        "No, on Friday, and the door code is 4471.",
        "Yes.",
        "Which is cheaper, Monday?",
        "It is not.",
        "Good.",
        "Yes.",
    )
    probes = [
        Probe("day", "Which [day]?", ["Friday"], "update", [3], stale=["Monday"]),
        Probe("code", "Which code?", ["4471"], "identifier", [3]),
        Probe("early", "Which day at first?", ["Monday"], "fact", [1], after=2),
        Probe("price", "Which is not cheaper?", ["Monday"], "fact", [5]),
        Probe("loyalty", "Which card?", [], "absent", []),
    ]
    return Conversation("tricky", "en", "test", messages, probes=probes)


@pytest.fixture
def sliding(run: Run) -> Path:
    """A run that keeps the system message and the last four others."""
    write_conversations(Path("x.jsonl"), [tricky()])
    return run("strategy=sliding", "strategy.recent_messages=4", "dataset.path=x.jsonl", "budget=[5,0.1]")


def test_a_lost_probe_is_explained(sliding: Path, show: Show) -> None:
    out, _ = show(sliding, conversation="tricky")
    lines = out.splitlines()
    assert lines[0] == "tricky · budget 5 (5 tokens) · after 9 messages"
    assert lines[4:13] == [
        "   0  system    kept     Be helpful.",
        "   1  user      dropped  [bold]Deliver[/bold] on Monday [31mplease.",
        "   2  assistant dropped  Yes.",
        "   3* user      dropped  No, on Friday, and the door code is 4471.",
        "   4  assistant dropped  Yes.",
        "   5* user      kept     Which is cheaper, Monday?",
        "   6  assistant kept     It is not.",
        "   7  user      kept     Good.",
        "   8  assistant kept     Yes.",
    ]
    assert lines[14] == "added: nothing"
    at = lines.index("probe day (update): lost")
    assert lines[at + 1 : at + 5] == [
        "  question: Which [day]?",
        "  answer: Friday: not found",
        "  evidence in message 3: dropped",
        "  stale value that survives instead: Monday",
    ]
    assert "probe price (fact): retained\n  question: Which is not cheaper?\n  answer: Monday: found\n" in out
    assert "probe loyalty (absent): not scored" in out
    assert lines[-1] == "asked at other messages (--probe shows one): early"


def test_one_probe_is_shown_where_it_is_asked(sliding: Path, show: Show) -> None:
    out, _ = show(sliding, conversation="tricky", probe="early", budget="0.1")
    assert out.startswith("tricky · budget 0.1 (")
    assert " · after 3 messages\n" in out
    assert re.findall(r"^probe (\w+)", out, re.MULTILINE) == ["early"]
    lost, _ = show(sliding, conversation="tricky", lost=True)
    assert re.findall(r"^probe (\w+)", lost, re.MULTILINE) == ["day", "code"]


def test_the_summary_may_hold_part_of_the_evidence(run: Run, show: Show, small: Conversation) -> None:
    write_conversations(Path("x.jsonl"), [small])
    smart = ("strategy.recent_messages=2", "strategy.summarize_threshold=2", "dataset.path=x.jsonl", "budget=30")
    shorten = f"summarizer._target_={__name__}.FirstWords"
    out, _ = show(run(*smart, "~summarizer.estimator", shorten), conversation="small", probe="order")
    assert "[system] Previous conversation summary:\nMy name is Ada Moreau\n\nprobe order" in out
    share = re.search(r"evidence in message 1: dropped; (\d+)% of its wording stands in what was added", out)
    assert share is not None
    assert 30 < int(share[1]) < 70  # five of nine words, of about half the characters


class FirstWords:
    """Summarises by the first five words."""

    def summarize(self, messages: Sequence[Message], max_tokens: int) -> str:
        return " ".join(str(messages[0].content).split()[:5])


class Parrot:
    """A model that says something else each time."""

    calls = 0

    def __init__(self, **settings: object) -> None:
        self.name = "parrot"

    def complete(self, messages: Sequence[Message], **settings: object) -> Reply:
        Parrot.calls += 1
        return Reply("Noted. " + "So it is. " * Parrot.calls, "stop", 10, 5)


def test_it_says_when_a_model_writes_the_summary_again(run: Run, show: Show, small: Conversation) -> None:
    write_conversations(Path("x.jsonl"), [small])
    smart = ("strategy.recent_messages=2", "strategy.summarize_threshold=2", "dataset.path=x.jsonl", "budget=30")
    folder = run(*smart, "summarizer=llm", f"llm._target_={__name__}.Parrot")
    notes = show(folder, conversation="small")[1].splitlines()
    assert notes[0] == "note: the model's answers were not recorded; it writes the summary again"
    assert notes[1].startswith("note: the run recorded 3 kept, 6 dropped, 1 added, ")
    for mode in ("auto", "record"):
        recorded = run(
            *smart, "summarizer=llm", "llm=recorded", f"llm.inner._target_={__name__}.Parrot", f"llm.mode={mode}",
            f"llm.path={mode}.jsonl",
        )  # fmt: skip
        calls = Parrot.calls
        out, err = show(recorded, conversation="small")
        assert (err, Parrot.calls) == ("", calls)
        assert "[system] Previous conversation summary:\nNoted. So it is." in out


def test_what_does_not_exist_is_told_in_one_line(sliding: Path, run: Run, show: Show, small: Conversation) -> None:
    for options, told in (
        ({"conversation": "other"}, "unknown conversation 'other'; known: tricky"),
        (
            {"conversation": "tricky", "probe": "x"},
            "unknown probe of tricky 'x'; known: code, day, early, loyalty, pri",
        ),
        ({"budget": "7"}, "unknown budget '7'; known: 0.1, 5"),
        ({"probe": "day"}, "--probe needs --conversation"),
    ):
        with pytest.raises(CtxbenchError, match=re.escape(told)):
            show(sliding, **options)
    write_conversations(Path("x.jsonl"), [tricky(), small])
    with pytest.raises(CtxbenchError, match="the dataset has changed since this run began"):
        show(sliding, conversation="tricky")
    with pytest.raises(CtxbenchError, match="nowhere is not a run"):
        show(Path("nowhere"))
    tokens = ("task.tokenizers=[o200k_base]", "task.estimators=[chars4]")
    folder = run("task=estimation", "dataset.languages=[en]", "dataset.limit=1", *tokens)
    with pytest.raises(CtxbenchError, match="is a run of task=estimation; only task=retention has contexts"):
        show(folder)


def test_arguments_are_declared() -> None:
    parser = argparse.ArgumentParser()
    show_.add_arguments(parser)
    parsed = parser.parse_args(["folder", "--conversation", "a", "--probe", "p", "--budget", "0.25", "--lost"])
    assert vars(parsed) == {
        "run": Path("folder"), "conversation": "a", "probe": "p", "budget": "0.25", "lost": True
    }  # fmt: skip


def test_of_equal_messages_the_very_object_counts_as_kept_else_the_later_one() -> None:
    first, second, new = Message("user", "Yes."), Message("user", "Yes."), Message("system", "So far: yes.")
    assert message_fates([first, second], [new, first]) == ([True, False], [new])
    assert message_fates([first, second], [new, Message("user", "Yes.")]) == ([False, True], [new])
    assert message_fates([first], [first, second]) == ([True], [second])
