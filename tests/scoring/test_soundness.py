import msgspec
import pytest

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.resources import datasets_folder
from ctxbench.scoring.soundness import faults as all_faults
from ctxbench.scoring.soundness import mark_verbatim


def faults(conversation: Conversation) -> list[str]:
    return [fault.text for fault in all_faults(conversation)]


def changed(conversation: Conversation, **fields: object) -> Conversation:
    return msgspec.structs.replace(conversation, **fields)


def with_probe(conversation: Conversation, **fields: object) -> Conversation:
    return changed(conversation, probes=[msgspec.structs.replace(conversation.probes[0], **fields)])


def test_a_sound_conversation_has_no_faults(small: Conversation) -> None:
    assert (faults(small)) == []


@pytest.mark.parametrize(
    ("fields", "what"),
    [
        ({"evidence": [99]}, r"evidence \[99\]; indices are 0 to 8"),
        ({"evidence": []}, "evidence is empty"),
        ({"answers": []}, "no answer"),
        ({"answers": ["HX-9"]}, "is found in the conversation"),
        ({"evidence": [3]}, r"no answer of .* is found in its evidence \[3\]"),
        ({"answers": ["HX-48213", "Done"]}, r"answer 'Done' leaks: it also stands in messages \[4\]"),
        ({"also": [["brass one"]]}, "is found in its evidence"),
        ({"after": 0}, r"evidence \[1\]; indices are 0 to 0"),
        ({"after": 12}, "'after' is 12"),
        ({"category": "absent"}, "has neither answers nor evidence"),
        ({"answers": ["5"]}, "answer '5' is too short to mean anything"),
    ],
)
def test_probes_that_measure_nothing_are_told(small: Conversation, fields: dict[str, object], what: str) -> None:
    import re

    found = faults(with_probe(small, **fields))
    assert any(re.search(what, fault) for fault in found), found


def test_structure_is_told(small: Conversation) -> None:
    messages = [Message("narrator", "once"), Message("tool", "x", tool_call_id="lost"), *small.messages]
    assert (faults(changed(small, messages=messages, probes=[], language="english"))) == [
        "language 'english' is not a BCP 47 tag such as 'en' or 'zh-Hans'",
        "message 0: unknown role 'narrator'",
        "message 1: orphan tool result",
    ]
    assert "no messages" in (faults(changed(small, messages=[], probes=[])))
    same = changed(small, messages=[*small.messages, small.messages[-1]])
    assert faults(same)[0] == "message 9: the same as the one before"
    assert faults(changed(small, language="ru"))[0].startswith("language 'ru', but 0% of the letters")
    twice = [Probe("a", "?", [], "absent", [])] * 2
    assert (faults(changed(small, probes=twice))) == ["probe a: this id stands 2 times"]


def test_every_bundled_conversation_is_sound() -> None:
    for folder in datasets_folder().iterdir():
        if folder.is_dir():
            for conversation in load_dataset(str(folder)).conversations:
                assert (faults(conversation)) == [], conversation.id


def test_answers_that_are_put_otherwise_are_left_to_a_reader(small: Conversation) -> None:
    loose = msgspec.structs.replace(small.probes[0], id="loose", answers=["the forty-eight thousandth"])
    marked = mark_verbatim(changed(small, probes=[*small.probes, loose]))
    assert [probe.verbatim for probe in marked.probes] == [True, True, True, True, False]
    assert faults(marked) == []
