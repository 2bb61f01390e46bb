"""The OpenAI client against a real HTTP server on loopback that answers as a test says."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from ctxbench.conversation.model import Message
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ModelError, ModelUnavailable, Reply
from ctxbench.models.openai import OpenAIChat
from ctxbench.models.usage import ledger

GOOD = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hello"}}],
    "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
}


class Endpoint(ThreadingHTTPServer):
    """Answers each request with the next of `answers`; the last one is repeated."""

    def __init__(self, *answers: tuple[int, Any]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.requests: list[dict[str, Any]] = []
        self.authorization: list[str | None] = []
        self.under_way = self.most_under_way = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.server.lock:
            self.server.requests.append(body)
            self.server.authorization.append(self.headers["Authorization"])
            self.server.under_way += 1
            self.server.most_under_way = max(self.server.most_under_way, self.server.under_way)
            status, answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if status == 0:
            threading.Event().wait(1.0)
            status = 200
        data = json.dumps(answer).encode()
        with self.server.lock:
            self.server.under_way -= 1
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.send_header("Retry-After", "0")
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            pass  # the client gave up, as a test wants

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def serve() -> Iterator[Any]:
    servers: list[Endpoint] = []

    def start(*answers: tuple[int, Any]) -> Endpoint:
        server = Endpoint(*answers)
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "sk-very-secret")


def chat(server: Endpoint, **settings: Any) -> OpenAIChat:
    return OpenAIChat("m", base_url=server.url, api_key_env="TEST_KEY", **settings)


def ask(model: OpenAIChat) -> Reply | None:
    return model.complete([Message("user", "hi")], purpose="summary", temperature=0.3, max_tokens=50)


def test_a_request_and_its_reply(serve: Any) -> None:
    server = serve((200, GOOD))
    with ledger() as usage:
        assert ask(chat(server, seed=5)) == Reply("hello", "stop", 7, 2)
    sent = {
        "model": "m",
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.3,
        "max_tokens": 50,
        "seed": 5,
    }
    assert server.requests == [sent]
    assert server.authorization == ["Bearer sk-very-secret"]
    assert (usage["summary"].calls, usage["summary"].prompt_tokens, usage["summary"].completion_tokens) == (1, 7, 2)
    assert usage["summary"].seconds > 0


@pytest.mark.parametrize("status", [429, 500, 503])
def test_transient_errors_are_retried(serve: Any, status: int) -> None:
    server = serve((status, {"error": {"message": "busy"}}), (200, GOOD))
    reply = ask(chat(server, max_retries=2))
    assert reply is not None
    assert reply.text == "hello"
    assert len(server.requests) == 2


def test_after_the_retries_the_request_has_failed(serve: Any) -> None:
    server = serve((500, {"error": {"message": "broken for good"}}))
    with pytest.raises(ModelError, match=r"model m at http://127.*HTTP 500.*broken for good"):
        ask(chat(server, max_retries=1))
    assert len(server.requests) == 2


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_wrong_key_or_model_is_final_and_the_key_is_not_told(serve: Any, status: int) -> None:
    server = serve((status, {"error": {"message": "no"}}))
    with pytest.raises(ModelUnavailable, match=f"HTTP {status}") as error:
        ask(chat(server))
    assert "secret" not in str(error.value)
    assert len(server.requests) == 1


def test_nobody_answers(serve: Any) -> None:
    model = OpenAIChat("m", base_url="http://127.0.0.1:9/v1", api_key_env=None, max_retries=0)
    with pytest.raises(ModelUnavailable, match=r"cannot connect .*check llm.base_url"):
        ask(model)


def test_an_answer_that_takes_too_long(serve: Any) -> None:
    with pytest.raises(ModelError, match="no answer in time; raise llm.timeout_s"):
        ask(chat(serve((0, GOOD)), timeout_s=0.2, max_retries=0))


def test_no_choice_is_no_reply(serve: Any) -> None:
    assert ask(chat(serve((200, GOOD | {"choices": []})))) is None


def test_a_missing_key_names_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TEST_KEY")
    with pytest.raises(CtxbenchError, match="set the environment variable TEST_KEY"):
        ask(OpenAIChat("m", api_key_env="TEST_KEY"))


def test_no_more_requests_than_allowed_are_under_way(serve: Any) -> None:
    server = serve((0, GOOD))
    model = chat(server, concurrency=2, timeout_s=30)
    threads = [threading.Thread(target=ask, args=(model,)) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(server.requests), server.most_under_way) == (5, 2)
