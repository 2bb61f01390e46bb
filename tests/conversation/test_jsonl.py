from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.jsonl import read_conversations, write_conversations
from ctxbench.conversation.model import Conversation, Message
from ctxbench.errors import CtxbenchError
from tests.conversation.strategies import conversations


@settings(max_examples=25)
@given(st.lists(conversations, max_size=4, unique_by=lambda one: one.id))
def test_write_then_read_gives_the_same(tmp_path_factory: pytest.TempPathFactory, written: list[Conversation]) -> None:
    path = tmp_path_factory.mktemp("jsonl") / "some.jsonl"
    assert write_conversations(path, written) == len(written)
    assert list(read_conversations(path)) == written


GOOD = b'{"id": "a", "language": "en", "source": "", "messages": []}\n'


@pytest.mark.parametrize(
    ("line", "what"),
    [
        (b"{broken\n", "malformed"),
        (b"[1, 2]\n", "a conversation is a JSON object, not list"),
        (b'{"id": "b", "language": "en", "source": ""}\n', "missing required field `messages`"),
        (b'{"id": "b", "language": "en", "source": "", "messages": [{"role": 3}]}\n', r"messages\[0\]"),
        (b'{"id": "b", "language": "\xff", "source": "", "messages": []}\n', "UTF-8"),
        (GOOD, "stands already at"),
    ],
)
def test_a_broken_line_is_told_with_its_place(tmp_path: Path, line: bytes, what: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_bytes(GOOD + b"\n" + line)
    with pytest.raises(CtxbenchError, match=f"bad.jsonl:3: .*{what}"):
        list(read_conversations(path))


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    path.write_bytes(GOOD)

    def failing() -> object:
        yield Conversation("x", "en", "", [Message("user", "hi")])
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError):
        write_conversations(path, failing())  # type: ignore[arg-type]
    assert path.read_bytes() == GOOD
    assert [file.name for file in tmp_path.iterdir()] == ["one.jsonl"]


def test_a_folder_is_all_its_files_and_languages_include_their_variants(tmp_path: Path) -> None:
    for name, language in (("b", "zh-Hant"), ("a", "zh-Hans"), ("c", "ja")):
        write_conversations(tmp_path / f"{name}.jsonl", [Conversation(name, language, "", [])])
    assert [one.id for one in load_dataset(str(tmp_path)).conversations] == ["a", "b", "c"]
    assert [one.id for one in load_dataset(str(tmp_path), languages=["zh"]).conversations] == ["a", "b"]
    assert [one.id for one in load_dataset(str(tmp_path), limit=1).conversations] == ["a"]


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        ({"path": "nowhere"}, "no such file or folder, and no bundled dataset"),
        ({"path": "core", "languages": ["xx"]}, "no conversations in xx"),
        ({"path": "core", "limit": 0}, "give 1 or more"),
    ],
)
def test_a_dataset_that_cannot_be_had_says_why(arguments: dict[str, object], what: str) -> None:
    with pytest.raises(CtxbenchError, match=what):
        load_dataset(**arguments)  # type: ignore[arg-type]
