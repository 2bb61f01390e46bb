"""What LlamaIndex's memories need to be given: a language model, and a store of messages.

Their classes inherit from LlamaIndex's, so they are made when they are first asked for.
"""

from collections.abc import Callable
from functools import cache
from typing import Any


def summary_llm(write: Callable[[str], str]) -> Any:
    """A language model that answers the transcript it is asked to summarise with `write(transcript)`."""
    return _llm_class()(write=write)


@cache
def _llm_class() -> Any:
    from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata

    class SummaryLlm(CustomLLM):  # type: ignore[misc]  # the library is read as Any
        write: Callable[[str], str]

        @property
        def metadata(self) -> LLMMetadata:
            return LLMMetadata()

        def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
            # The first message is LlamaIndex's instruction; a summarizer has its own.
            return ChatResponse(message=ChatMessage(role="assistant", content=self.write(messages[-1].content)))

        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
            return CompletionResponse(text=self.write(prompt))

        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

    return SummaryLlm
