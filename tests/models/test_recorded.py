import json
import multiprocessing
from collections.abc import Sequence
from pathlib import Path

import pytest

from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import Purpose, Reply
from ctxbench.models.recorded import Mode, RecordedChat
from ctxbench.models.usage import ledger


class Counting:
    """A model that numbers its answers."""

    name = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def complete(self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int) -> Reply:
        self.calls += 1
        return Reply(f"answer {self.calls}", "stop", 3, 2)


def ask(model: RecordedChat, text: str = "hi", temperature: float = 0.0) -> str | None:
    reply = model.complete([Message("user", text)], purpose="reader", temperature=temperature, max_tokens=9)
    return reply.text if reply else None


def test_auto_asks_once_and_replay_never(tmp_path: Path) -> None:
    path, inner = tmp_path / "some" / "recordings.jsonl", Counting()
    model = RecordedChat(inner, path)
    assert [ask(model), ask(model), ask(model, "other"), ask(model, temperature=0.5)] == [
        "answer 1", "answer 1", "answer 2", "answer 3",
    ]  # fmt: skip
    replayed = RecordedChat(inner, path, "replay")
    with ledger() as usage:
        assert ask(replayed, "other") == "answer 2"
    assert inner.calls == 3
    assert (usage["reader"].calls, usage["reader"].prompt_tokens) == (1, 3)
    with pytest.raises(CtxbenchError, match="no recording of this reader request; run with llm.mode=auto"):
        ask(replayed, "never asked")


def test_record_asks_always_and_the_first_recording_counts(tmp_path: Path) -> None:
    path = tmp_path / "recordings.jsonl"
    model = RecordedChat(Counting(), path, "record")
    assert [ask(model), ask(model)] == ["answer 1", "answer 2"]
    assert ask(RecordedChat(Counting(), path, "replay")) == "answer 1"


def test_a_line_tells_the_request_and_the_reply(tmp_path: Path) -> None:
    path = tmp_path / "recordings.jsonl"
    ask(RecordedChat(Counting(), path), "grüß dich")
    (line,) = path.read_text("utf-8").splitlines()
    entry = json.loads(line)
    assert "grüß dich" in line
    assert entry["model"] == "counting"
    assert entry["parameters"] == {"temperature": 0.0, "max_tokens": 9}
    assert entry["reply"]["text"] == "answer 1"
    assert entry["purpose"] == "reader"


def test_a_line_that_is_being_written_is_not_read_and_a_broken_one_is_told(tmp_path: Path) -> None:
    path = tmp_path / "recordings.jsonl"
    ask(RecordedChat(Counting(), path))
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:20])
    assert ask(RecordedChat(Counting(), path, "replay")) == "answer 1"
    path.write_bytes(whole + b"{}\n")
    with pytest.raises(CtxbenchError, match=f"byte {len(whole)}: not a recording"):
        ask(RecordedChat(Counting(), path, "replay"))


def test_a_wrong_mode_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CtxbenchError, match="record, replay or auto"):
        RecordedChat(Counting(), tmp_path / "r", "sometimes")  # type: ignore[arg-type]


def _record(path: str, mode: Mode) -> None:
    model = RecordedChat(Counting(), path, mode)
    for index in range(50):
        ask(model, f"question {index}")


def test_two_processes_record_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "recordings.jsonl"
    spawn = multiprocessing.get_context("spawn")
    workers = [spawn.Process(target=_record, args=(str(path), "auto")) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0]
    keys = [json.loads(line)["key"] for line in path.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == 50
