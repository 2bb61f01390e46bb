from typing import Any

import pytest

from ctxbench.conversation.model import Conversation, Message, content_text
from ctxbench.tokens.framing import CHATML, FRAMINGS, LLAMA3, OPENAI, framing_of, prompt_tokens, schema_tokens
from ctxbench.tokens.tokenizers import CachedTokenizer

WORDS = CachedTokenizer("o200k_base", lambda texts: [len(text.split()) for text in texts])
MESSAGES = [Message("system", "be kind"), Message("user", "a b c"), Message("assistant", "d")]


def test_openais_example_by_hand() -> None:
    # 3 tokens and the role for each of three messages, 6 words, 3 for the reply
    assert prompt_tokens(WORDS, MESSAGES) == 3 * 4 + 6 + 3
    assert prompt_tokens(WORDS, MESSAGES, schemas=10) == 3 * 4 + 6 + 3 + 10


def test_roles_can_have_frames_of_their_own() -> None:
    assert FRAMINGS["mistral_tekken"].tokens(MESSAGES) == 1 + 2 + 2 + 1
    assert framing_of("hf:some/model") is CHATML
    assert framing_of("cl100k_base") is OPENAI


def test_schemas_are_counted_where_they_are_recorded() -> None:
    one = Conversation("a", "en", "", MESSAGES, extra={"tools": [{"name": "find it"}]})
    assert schema_tokens(one, WORDS) == 2  # [{"name":"find it"}]
    assert schema_tokens(Conversation("b", "en", "", MESSAGES), WORDS) == 0


TEMPLATES = {
    "chatml": (
        CHATML,
        "{% for m in messages %}<|im_start|> {{ m.role }} N {{ m.content }} <|im_end|> N {% endfor %}"
        "{% if add_generation_prompt %}<|im_start|> assistant N{% endif %}",
    ),
    "llama3": (
        LLAMA3,
        "<|begin|> {% for m in messages %}<|start|> {{ m.role }} <|end|> NN {{ m.content }} <|eot|> {% endfor %}"
        "{% if add_generation_prompt %}<|start|> assistant <|end|> NN{% endif %}",
    ),
}


@pytest.mark.parametrize("name", TEMPLATES)
def test_frames_agree_with_chat_templates_rendered_by_transformers(name: str) -> None:
    """Each marker and line end is one token in these models: here they are words of a word tokenizer."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import PreTrainedTokenizerFast

    framing, template = TEMPLATES[name]
    backend = Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    backend.pre_tokenizer = WhitespaceSplit()
    fast: Any = PreTrainedTokenizerFast
    tokenizer = fast(tokenizer_object=backend, unk_token="[UNK]", chat_template=template)
    raws = [{"role": message.role, "content": message.content} for message in MESSAGES]
    rendered = tokenizer.apply_chat_template(raws, tokenize=False, add_generation_prompt=True)
    texts = sum(len(content_text(message).split()) for message in MESSAGES)
    assert len(rendered.split()) == texts + framing.tokens(MESSAGES)
