import msgspec
import pytest

from ctxbench.conversation.model import Conversation, conversation_to_dict
from ctxbench.conversation.synthetic import LANGUAGES, generate, load_synthetic
from ctxbench.errors import CtxbenchError
from ctxbench.scoring.soundness import faults
from ctxbench.tokens.tokenizers import count_messages
from ctxbench.tokens.vocab import tiktoken_encoding


def data(conversation: Conversation) -> bytes:
    return msgspec.json.encode(conversation_to_dict(conversation))


@pytest.mark.parametrize("language", LANGUAGES)
def test_generated_conversations_are_sound_and_about_as_long_as_asked(language: str) -> None:
    conversation = generate(language, tokens=8000, facts=18, seed="1")
    assert [fault for fault in faults(conversation) if fault.kind != "duplicate_turn"] == []
    assert 6400 < count_messages(tiktoken_encoding("o200k_base"), conversation.messages) < 10_500
    assert {probe.category for probe in conversation.probes} == {
        "identifier",
        "number",
        "date",
        "update",
        "tool_result",
    }


def test_the_same_seed_gives_the_same_bytes_and_another_one_others() -> None:
    assert data(generate("en", tokens=3000, facts=9, seed="1")) == data(generate("en", tokens=3000, facts=9, seed="1"))
    assert data(generate("en", tokens=3000, facts=9, seed="1")) != data(generate("en", tokens=3000, facts=9, seed="2"))


def test_facts_stand_at_the_depths_asked_for() -> None:
    depths = [0.0, 0.25, 0.5, 0.75, 1.0]
    conversation = generate("ja", tokens=20_000, facts=1, depths=depths, seed="1")
    last = len(conversation.messages) - 1
    said = [probe for probe in conversation.probes if probe.category in ("identifier", "number", "date")]
    for probe in said:
        assert probe.evidence[0] / last == pytest.approx(probe.extra["depth"], abs=0.04)
    assert [probe.extra["depth"] for probe in conversation.probes] == depths


def test_an_update_is_corrected_later_and_its_first_value_is_stale() -> None:
    conversation = generate("en", tokens=6000, facts=9, seed="1")
    updates = [probe for probe in conversation.probes if probe.category == "update"]
    assert len(updates) == 3
    for probe in updates:
        text = [str(message.content) for message in conversation.messages]
        old = next(index for index, one in enumerate(text) if probe.stale[0] in one)
        assert old < probe.evidence[0]
        assert text[probe.evidence[0]].startswith("Correction: ")


def test_there_are_distractors_of_the_same_form() -> None:
    conversation = generate("en", tokens=6000, facts=3, seed="1")
    codes = [message for message in conversation.messages if "access code" in str(message.content)]
    assert len(codes) == 3


def test_more_facts_than_people_and_places_still_differ() -> None:
    conversation = generate("en", tokens=100_000, facts=300, seed="1")
    assert len({probe.question for probe in conversation.probes}) == 300
    assert len({probe.answers[0] for probe in conversation.probes}) == 300


def test_a_million_tokens_are_generated_in_linear_time() -> None:
    conversation = generate("ru", tokens=1_000_000, facts=100, seed="1")
    assert len(conversation.messages) > 20_000


def test_a_dataset_has_conversations_for_each_language() -> None:
    dataset = load_synthetic(tokens=500, facts=3, conversations=2, seed=0, languages=["en", "th"])
    assert [one.language for one in dataset.conversations] == ["en", "en", "th", "th"]
    assert len({one.id for one in dataset.conversations}) == 4


@pytest.mark.parametrize("settings", [{"tokens": 0}, {"facts": 0}, {"depths": [1.5]}])
def test_settings_that_make_no_sense_are_refused(settings: dict[str, object]) -> None:
    with pytest.raises(CtxbenchError, match="give tokens and facts of 1 or more"):
        generate("en", **({"tokens": 100, "facts": 3, "seed": "1"} | settings))  # type: ignore[arg-type]


def test_an_unknown_language_is_told() -> None:
    with pytest.raises(CtxbenchError, match="unknown synthetic language 'xx'; known: ar, en"):
        load_synthetic(tokens=100, facts=1, conversations=1, seed=0, languages=["xx"])
