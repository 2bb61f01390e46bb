"""A model on this machine: llama.cpp inside this process, behind a loopback port.

xllamacpp's server opens an OpenAI-compatible endpoint; `OpenAIChat` talks to it. The
server starts with the first request and ends with the process. One server for each
model file, shared by all who ask for it.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from ctxbench.conversation.model import Message
from ctxbench.models.base import ModelUnavailable, Purpose, Reply
from ctxbench.models.openai import OpenAIChat
from ctxbench.models.weights import weights_path

_starting = Lock()


class LocalChat:
    """A GGUF model run by llama.cpp.

    Args:
        model: a name that `ctxbench models pull` knows, or the path of a GGUF file.
        context_tokens: the window to allocate. threads: CPU threads; None for all cores.
        seed: of the sampler, so that answers can be repeated.
    """

    def __init__(
        self,
        model: str = "smollm2-135m",
        *,
        context_tokens: int = 8192,
        threads: int | None = None,
        seed: int = 0,
        timeout_s: float = 600.0,
    ) -> None:
        self.name = Path(model).stem if model.endswith(".gguf") else model
        self._model = model
        self._settings = (context_tokens, threads)
        self._seed, self._timeout_s = seed, timeout_s
        self._chat: OpenAIChat | None = None

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        """The model's answer; the first call loads the model."""
        with _starting:
            if self._chat is None:
                server = _server(weights_path(self._model), *self._settings)
                self._chat = OpenAIChat(
                    self.name,
                    base_url=f"{server.listening_address}/v1",
                    api_key_env=None,
                    timeout_s=self._timeout_s,
                    max_retries=0,
                    concurrency=1,
                    seed=self._seed,
                )
        return self._chat.complete(messages, purpose=purpose, temperature=temperature, max_tokens=max_tokens)


@lru_cache
def _server(path: Path, context_tokens: int, threads: int | None) -> Any:
    """The running server of a model file; it stays up as long as the process."""
    try:
        import xllamacpp
    except ImportError:
        raise ModelUnavailable("llm=local needs xllamacpp: pip install 'ctxbench[local]'") from None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.hostnames, parameters.port, parameters.ui = ["127.0.0.1"], 0, False
    parameters.n_ctx, parameters.n_parallel = context_tokens, 1
    parameters.verbosity = -1
    parameters.cpuparams.n_threads = threads or -1
    try:
        return xllamacpp.Server(parameters)
    except Exception as error:  # its errors have no common class
        raise ModelUnavailable(f"llm=local: llama.cpp cannot load {path}: {error}") from None
