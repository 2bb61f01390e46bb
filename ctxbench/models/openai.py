"""Any endpoint that speaks OpenAI's chat completions: OpenAI, vLLM, Ollama, llama.cpp.

The SDK retries 429, 5xx and connection errors with backoff. The key is read from the
environment when a request is made; it is never kept in a setting, printed or written.
"""

import os
import time
from collections.abc import Sequence
from threading import BoundedSemaphore, Lock
from typing import TYPE_CHECKING, Any

from ctxbench.conversation.model import Message, message_to_dict
from ctxbench.models.base import ModelError, ModelUnavailable, Purpose, Reply
from ctxbench.models.usage import note_usage

if TYPE_CHECKING:
    import openai


class OpenAIChat:
    """A model behind an OpenAI-compatible endpoint.

    Args:
        model: the model's name at the endpoint.
        base_url: the endpoint, such as `http://127.0.0.1:8000/v1`; None is OpenAI's own.
        api_key_env: the environment variable with the key; None for an endpoint without keys.
        timeout_s: seconds for one request. max_retries: further tries by the SDK.
        concurrency: requests under way at once.
        seed: sent along, for endpoints that honour it.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key_env: str | None = "OPENAI_API_KEY",
        timeout_s: float = 120.0,
        max_retries: int = 4,
        concurrency: int = 4,
        seed: int | None = None,
    ) -> None:
        self.name = model
        self._base_url, self._api_key_env = base_url, api_key_env
        self._timeout_s, self._max_retries, self._seed = timeout_s, max_retries, seed
        self._slots = BoundedSemaphore(concurrency)
        self._client: openai.OpenAI | None = None
        self._lock = Lock()

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        """The first choice of the endpoint's answer; None when it gave none."""
        import openai

        client = self._connected()
        request: dict[str, Any] = {"model": self.name, "messages": [message_to_dict(message) for message in messages]}
        request |= {"temperature": temperature, "max_tokens": max_tokens}
        if self._seed is not None:
            request["seed"] = self._seed
        with self._slots:
            started = time.perf_counter()
            try:
                answer = client.chat.completions.create(**request)
            except openai.OpenAIError as error:
                kind = ModelUnavailable if _is_final(error) else ModelError
                raise kind(f"model {self.name} at {client.base_url}: {_reason(error)}") from None
            seconds = time.perf_counter() - started
        reply = _reply(answer)
        note_usage(purpose, reply, seconds)
        return reply

    def _connected(self) -> "openai.OpenAI":
        import openai

        with self._lock:
            if self._client is None:
                self._client = openai.OpenAI(
                    api_key=self._key(),
                    base_url=self._base_url,
                    timeout=self._timeout_s,
                    max_retries=self._max_retries,
                )
            return self._client

    def _key(self) -> str:
        if self._api_key_env is None:
            return "none"  # the SDK demands one; endpoints without keys ignore it
        key = os.environ.get(self._api_key_env)
        if not key:
            raise ModelUnavailable(f"model {self.name}: no key; set the environment variable {self._api_key_env}")
        return key


def _reply(answer: Any) -> Reply | None:
    if not getattr(answer, "choices", None):
        return None
    choice = answer.choices[0]
    usage = answer.usage
    return Reply(
        choice.message.content,
        choice.finish_reason or "stop",
        usage.prompt_tokens if usage else 0,
        usage.completion_tokens if usage else 0,
    )


def _is_final(error: Exception) -> bool:
    """Whether the same would happen to every request: nobody answers, the key or the model is wrong."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return False
    final = (openai.APIConnectionError, openai.AuthenticationError, openai.PermissionDeniedError, openai.NotFoundError)
    return isinstance(error, final)


def _reason(error: Exception) -> str:
    """The error on one line, without the request's headers or key."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return f"HTTP {error.status_code}: {' '.join(error.message.split())[:300]}"
    if isinstance(error, openai.APITimeoutError):
        return "no answer in time; raise llm.timeout_s, or check the endpoint"
    if isinstance(error, openai.APIConnectionError):
        return f"cannot connect ({error.__cause__ or error}); check llm.base_url and that the server runs"
    return " ".join(str(error).split())[:300]
