"""What several tests need: the shared vectors, a Redis server, small conversations."""

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from ctxbench.conversation.model import Conversation, Message, Probe

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"
DATA = Path(__file__).parent / "data"

settings.register_profile("unhurried", deadline=None, max_examples=50)  # a busy machine is no fault of the code
settings.load_profile("unhurried")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest tests first, so that no process is left alone with them at the end."""
    items.sort(key=lambda item: item.path.name != "test_readme.py")


@pytest.fixture(scope="session")
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip("the shared vectors and public data are not beside this checkout")
    return SHARED


@pytest.fixture(scope="session")
def redis_url() -> Iterator[str]:
    """A real Redis: the one that CTXBENCH_TEST_REDIS names, or one started here."""
    if url := os.environ.get("CTXBENCH_TEST_REDIS"):
        yield url
        return
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("no redis-server on this machine, and CTXBENCH_TEST_REDIS is not set")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(timeout=10)


def chat(*contents: str, system: str | None = "Be helpful.") -> list[Message]:
    """Messages that alternate between user and assistant."""
    messages = [Message("system", system)] if system is not None else []
    messages += [Message(("user", "assistant")[i % 2], content) for i, content in enumerate(contents)]
    return messages


@pytest.fixture
def small() -> Conversation:
    """Nine messages, facts in the first and in the last turns."""
    messages = chat(
        "My name is Ada Moreau and the order is HX-48213.",
        "Thank you, I have found it.",
        "Deliver it on Friday please, to 14 Harbour Lane.",
        "Done.",
        "What colours of the lamp are there?",
        "Brass, white and a dark green.",
        "I take the brass one.",
        "Good choice.",
    )
    probes = [
        Probe("order", "Which order?", ["HX-48213"], "identifier", [1]),
        Probe("address", "Where to?", ["14 Harbour Lane"], "fact", [3]),
        Probe("choice", "Which one?", ["the brass one"], "decision", [7]),
        Probe("loyalty", "Which loyalty card?", [], "absent", []),
    ]
    return Conversation("small", "en", "test", messages, probes=probes)
