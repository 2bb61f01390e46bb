"""Other talk that a long session goes on with, in which no probe's answer stands."""

import random
from collections.abc import Iterator

from ctxbench.conversation.model import Conversation, Message
from ctxbench.conversation.synthetic import LANGUAGES, small_talk
from ctxbench.scoring.retained import found, haystack
from ctxbench.tokens.tokenizers import Tokenizer, count_messages

MOST_TRIES = 50


def filler(conversation: Conversation, tokens: int, tokenizer: Tokenizer, seed: str) -> Iterator[Message]:
    """Yield turns of small talk until they have `tokens` tokens; seeded.

    In the conversation's language where the generator has it, else in English. Turns in
    which an answer of the conversation stands are left out.
    """
    language = conversation.language if conversation.language in LANGUAGES else "en"
    rng = random.Random(f"{conversation.id}-{seed}")  # noqa: S311 - repeatable, not secret
    answers = [alias for probe in conversation.probes for aliases in [probe.answers, *probe.also] for alias in aliases]
    written = tries = 0
    while written < tokens and tries < MOST_TRIES:
        turn = small_talk(language, rng)
        if found(answers, haystack(turn)):
            tries += 1
            continue
        written += count_messages(tokenizer, turn)
        yield from turn
