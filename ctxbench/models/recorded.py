"""Records a model's answers and replays them, so that a run can be repeated without the model.

One JSON line an answer, appended whole under a file lock, so that two processes can
record into one file. The key is a hash of the model's name, the parameters and the
messages; the same request twice is one recording.
"""

import hashlib
import time
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import Any, Literal

import msgspec

from ctxbench.conversation.model import Message, message_to_dict
from ctxbench.errors import CtxbenchError
from ctxbench.files import append_lines
from ctxbench.models.base import ChatModel, ModelUnavailable, Purpose, Reply
from ctxbench.models.usage import note_usage

Mode = Literal["record", "replay", "auto"]


class RecordedChat:
    """A model behind a file of recordings.

    `mode`: `record` asks the model always, `replay` never (a request that is not in the
    file is an error), `auto` only for what is not in the file.
    """

    def __init__(self, inner: ChatModel, path: str | Path, mode: Mode = "auto") -> None:
        if mode not in ("record", "replay", "auto"):
            raise CtxbenchError(f"llm.mode is {mode!r}; give record, replay or auto")
        self.name = inner.name
        self._inner, self._path, self._mode = inner, Path(path), mode
        self._replies: dict[str, Reply | None] | None = None
        self._read_bytes = 0
        self._lock = Lock()

    def complete(
        self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int
    ) -> Reply | None:
        """The recorded answer, or the model's, which is then recorded."""
        request = {
            "model": self.name,
            "parameters": {"temperature": float(temperature), "max_tokens": max_tokens},
            "messages": [message_to_dict(message) for message in messages],
        }
        key = hashlib.sha256(msgspec.json.encode(request, order="sorted")).hexdigest()
        if self._mode != "record":
            started = time.perf_counter()
            replies = self._load()
            if key in replies:
                note_usage(purpose, replies[key], time.perf_counter() - started)
                return replies[key]
            if self._mode == "replay":
                raise ModelUnavailable(f"{self._path}: no recording of this {purpose} request; run with llm.mode=auto")
        reply = self._inner.complete(messages, purpose=purpose, temperature=temperature, max_tokens=max_tokens)
        self._append(key, purpose, request, reply)
        return reply

    def _load(self) -> dict[str, Reply | None]:
        """All recordings in the file by now, those of other processes included."""
        with self._lock:
            if self._replies is None:
                self._replies = {}
            size = self._path.stat().st_size if self._path.is_file() else 0
            if size > self._read_bytes:
                with self._path.open("rb") as stream:
                    stream.seek(self._read_bytes)
                    for line in stream:
                        if line.endswith(b"\n"):  # else it is being written
                            key, reply = self._parse(line)
                            self._read_bytes += len(line)
                            self._replies.setdefault(key, reply)
            return self._replies

    def _parse(self, line: bytes) -> tuple[str, Reply | None]:
        try:
            raw: Any = msgspec.json.decode(line)
            return raw["key"], msgspec.convert(raw["reply"], Reply | None)
        except (msgspec.MsgspecError, KeyError, TypeError) as error:
            raise CtxbenchError(f"{self._path}: byte {self._read_bytes}: not a recording: {error}") from None

    def _append(self, key: str, purpose: Purpose, request: dict[str, Any], reply: Reply | None) -> None:
        from filelock import FileLock

        entry = {"key": key, "purpose": purpose, **request, "reply": reply}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{self._path}.lock"):
            if self._mode == "record" or key not in self._load():
                append_lines(self._path, msgspec.json.encode(entry) + b"\n")
