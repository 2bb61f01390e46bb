"""Every importer on a small file of its shape, and on the real files where they are."""

import codecs
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ctxbench.conversation.importers.base import Tally, read_records
from ctxbench.conversation.importers.registry import FORMATS, import_conversations, importer
from ctxbench.conversation.model import Conversation, Message, content_text
from ctxbench.conversation.validity import broken_rules, is_valid
from ctxbench.errors import CtxbenchError

CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": "{}"}}


def do(name: str, path: Path, language: str | None = None) -> tuple[list[Conversation], Tally]:
    tally = Tally()
    return list(import_conversations(name, path, language=language, tally=tally)), tally


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")
    return path


def write_lines(path: Path, values: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values), "utf-8")
    return path


@pytest.mark.parametrize(
    "record",
    [
        {"id": "r", "messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]},
        {
            "custom_id": "r",
            "body": {"messages": [{"role": "user", "content": "hi"}]},
            "response": {"choices": [{"message": {"role": "assistant", "content": "hello"}}]},
        },
    ],
)
def test_openai_records_and_logs(tmp_path: Path, record: dict[str, Any]) -> None:
    (one,), tally = do("openai", write_lines(tmp_path / "x.jsonl", [record]), "de")
    assert (one.id, one.language) == ("r", "de")
    assert one.messages == [Message("user", "hi"), Message("assistant", "hello")]
    assert tally.lines() == ["conversations: 1 read, 1 kept", "messages: 2 read, 2 kept"]


def test_an_openai_file_may_be_one_list_of_messages(tmp_path: Path) -> None:
    path = write(tmp_path / "x.json", [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])
    (one,), _ = do("openai", path)
    assert [message.role for message in one.messages] == ["user", "assistant"]
    assert one.language == "und"


def test_sharegpt_with_tools(tmp_path: Path) -> None:
    turns = [
        {"from": "human", "value": "Weather?"},
        {"from": "function_call", "value": '{"name": "weather", "arguments": {"city": "Gent"}}'},
        {"from": "observation", "value": "rain"},
        {"from": "gpt", "value": "It rains."},
    ]
    (one,), tally = do(
        "sharegpt", write(tmp_path / "x.json", [{"id": "s", "system": "Be kind.", "conversations": turns}])
    )
    assert [message.role for message in one.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert one.messages[2].tool_calls[0].function.arguments == '{"city":"Gent"}'
    assert broken_rules(one.messages) == []
    assert tally.kept["messages"] == 5


LOCOMO = {
    "sample_id": "conv-1",
    "conversation": {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_2_date_time": "9 May",
        "session_2": [{"speaker": "Bo", "dia_id": "D2:1", "text": "I moved to Riga."}],
        "session_1_date_time": "1 May",
        "session_1": [
            {"speaker": "Ann", "dia_id": "D1:1", "text": "Look!", "blip_caption": "a photo of a red kite"},
            {"speaker": "Bo", "dia_id": "D1:2", "text": "Nice."},
        ],
    },
    "qa": [
        {"question": "Where does Bo live?", "answer": "Riga", "evidence": ["D2:1; D1:2"], "category": 4},
        {"question": "How many kites?", "answer": 3, "evidence": ["D:1:1", "D"], "category": 1},
        {"question": "Which car?", "adversarial_answer": "a van", "evidence": ["D1:1"], "category": 5},
    ],
}


def test_locomo(tmp_path: Path) -> None:
    (one,), tally = do("locomo", write(tmp_path / "locomo.json", [LOCOMO]))
    assert [(m.role, m.name, m.content) for m in one.messages] == [
        ("user", "Ann", "[1 May] Look! [shares a photo of a red kite]"),
        ("assistant", "Bo", "Nice."),
        ("assistant", "Bo", "[9 May] I moved to Riga."),
    ]
    assert [(p.category, p.answers, p.evidence) for p in one.probes] == [
        ("fact", ["Riga"], [1, 2]), ("multi", ["3"], [0]), ("absent", [], []),
    ]  # fmt: skip
    assert tally.notes == {"questions with an evidence id that names no turn": 1}


def test_longmemeval_original_and_rekeyed(tmp_path: Path) -> None:
    original = {
        "question_id": "q1", "question_type": "knowledge-update", "question": "Best time?",
        "answer": "25 minutes (or 25:50)", "haystack_dates": ["1 May", "2 May"],
        "haystack_session_ids": ["s1", "s2"], "answer_session_ids": ["s2"],
        "haystack_sessions": [
            [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}],
            [{"role": "user", "content": "I ran 25:50", "has_answer": True}, {"role": "assistant", "content": "wow"}],
        ],
    }  # fmt: skip
    absent = original | {"question_id": "q2_abs"}
    unmarked = original | {"question_id": "q3", "haystack_sessions": [[], [{"role": "user", "content": "I ran 25:50"}]]}
    read, _ = do("longmemeval", write(tmp_path / "o.json", [original, absent, unmarked]))
    assert [content_text(message) for message in read[0].messages] == [
        "[1 May] hi",
        "hello",
        "[2 May] I ran 25:50",
        "wow",
    ]
    probes = [one.probes[0] for one in read]
    assert [(p.category, p.answers, p.evidence) for p in probes] == [
        ("update", ["25 minutes", "25:50"], [2]), ("absent", [], []), ("update", ["25 minutes", "25:50"], [0]),
    ]  # fmt: skip
    entry = {
        "id": "e1", "question_type": "multi-session",
        "conversation": [{"role": "user", "content": "a", "date": "d1"}, {"role": "assistant", "content": "b", "date": "d1"}],
        "questions": [{"id": "q", "question": "?", "answer": 43}],
    }  # fmt: skip
    (one,), tally = do("longmemeval", write(tmp_path / "r.json", {"data": [entry]}))
    assert [content_text(message) for message in one.messages] == ["[d1] a", "b"]
    assert (one.probes[0].answers, one.probes[0].category) == (["43"], "multi")
    assert tally.notes["questions without marked evidence"] == 1


def test_bfcl(tmp_path: Path) -> None:
    session = {"id": "s0", "scenario": "shop", "question": [[{"role": "user", "content": "I’m Ada, hi."}]]}
    write_lines(tmp_path / "memory_prereq_conversation" / "memory_shop.json", [session, session | {"id": "s1"}])
    asked = {"id": "m0", "scenario": "shop", "question": [[{"role": "user", "content": "Who am I?"}]]}
    other = {"id": "m2", "scenario": "bank", "question": [[{"role": "user", "content": "?"}]]}
    write_lines(tmp_path / "BFCL_v4_memory.json", [asked, asked | {"id": "m1"}, other])
    truth = {"id": "m0", "ground_truth": ["Ada", "Ms Ada"], "source": '"I\'m Ada..."'}
    write_lines(tmp_path / "possible_answer" / "BFCL_v4_memory.json", [truth])
    (one,), tally = do("bfcl", tmp_path)
    assert (one.id, len(one.messages)) == ("bfcl-shop", 2)
    assert [(p.question, p.answers, p.evidence) for p in one.probes] == [("Who am I?", ["Ada", "Ms Ada"], [0, 1])]
    assert tally.left == {("questions", "no possible answer"): 1, ("questions", "no sessions of the scenario bank"): 1}


def test_tau_bench(tmp_path: Path) -> None:
    traj = [
        {"role": "user", "content": "hi"},
        {"content": None, "role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "name": "find", "content": "ok"},
    ]
    (one,), tally = do(
        "tau_bench", write(tmp_path / "runs.json", [{"task_id": 3, "trial": 1, "reward": 0.0, "traj": traj}])
    )
    assert one.id == "runs-3-1"
    assert one.messages[1].tool_calls[0].function.name == "find"
    assert tally.notes["tool calls"] == 1


def test_functionchat_takes_the_last_turn(tmp_path: Path) -> None:
    query = [{"role": "user", "content": "계정을 만들어 주세요"}]
    turns = [
        {"query": query, "ground_truth": {"role": "assistant", "content": None, "tool_calls": [CALL]}},
        {
            "query": [*query, {"role": "assistant", "content": None, "tool_calls": [CALL]},
                      {"role": "tool", "tool_call_id": "c1", "content": "ok"}],
            "ground_truth": {"role": "assistant", "content": "됐습니다"},
        },
    ]  # fmt: skip
    (one,), _ = do("functionchat", write_lines(tmp_path / "f.jsonl", [{"dialog_num": 7, "tools": [], "turns": turns}]))
    assert (one.id, one.language, len(one.messages)) == ("functionchat-7", "ko", 4)
    assert broken_rules(one.messages) == []


def test_swe_agent(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "You fix bugs.", "agent": "main"},
        {
            "role": "assistant",
            "content": "look",
            "thought": "look",
            "action": "ls",
            "agent": "main",
            "tool_calls": [CALL],
        },
        {"role": "tool", "content": "a.py", "agent": "main", "tool_call_ids": ["c1"]},
    ]
    (one,), _ = do("swe_agent", write(tmp_path / "fix-1.traj", {"history": history}))
    assert one.id == "fix-1"
    assert one.messages[1].extra == {}
    assert is_valid(broken_rules(one.messages), "openai")


def test_kdconv(tmp_path: Path) -> None:
    fact = {"name": "茶馆", "attrname": "作者", "attrvalue": "老舍"}
    turns = [
        {"message": "看过《茶馆》吗？"},
        {"message": "看过，作者是老舍。", "attrs": [fact, {"name": "茶馆", "attrname": "年份", "attrvalue": "1956年"}]},
        {"message": "老舍写得真好。", "attrs": [fact]},
    ]
    (one,), tally = do("kdconv", write(tmp_path / "book.json", [{"name": "茶馆", "messages": turns}]))
    assert [message.role for message in one.messages] == ["user", "assistant", "user"]
    assert [(p.question, p.answers, p.evidence) for p in one.probes] == [("茶馆的作者是什么？", ["老舍"], [1, 2])]
    assert sum(tally.left.values()) == 2
    assert tally.read["questions"] == tally.kept["questions"] + 2


def test_mt_bench(tmp_path: Path) -> None:
    write_lines(
        tmp_path / "jp" / "question.jsonl", [{"question_id": n, "turns": ["一つ目", "二つ目"]} for n in (81, 82)]
    )
    write_lines(tmp_path / "jp" / "gpt-4.jsonl", [{"question_id": 81, "choices": [{"turns": ["答え一", "答え二"]}]}])
    (answered, silent), tally = do("mt_bench", tmp_path)
    assert answered.language == "ja"
    assert [content_text(message) for message in answered.messages] == ["一つ目", "答え一", "二つ目", "答え二"]
    assert [message.role for message in silent.messages] == ["user", "user"]
    assert tally.notes["questions without an answer (jp)"] == 1


def test_squad(tmp_path: Path) -> None:
    paragraph = {
        "context": "The tower is old. It is 48 m high.",
        "qas": [
            {"id": "a", "question": "How high?", "answers": [{"text": "48 m", "answer_start": 24}]},
            {"id": "b", "question": "What?", "answers": [{"text": "old. It", "answer_start": 13}]},
        ],
    }
    path = write(tmp_path / "xquad.es.json", {"data": [{"title": "T", "paragraphs": [paragraph]}]})
    (one,), tally = do("squad", path)
    assert (one.id, one.language, len(one.messages)) == ("xquad.es-T-0", "es", 2)
    assert [probe.evidence for probe in one.probes] == [[1], []]
    assert tally.notes == {"answers that span two sentences": 1}


def test_lines(tmp_path: Path) -> None:
    for name in ("deu", "zho-TW"):
        (tmp_path / f"{name}.txt").write_bytes(codecs.BOM_UTF8 + b"eins\n\nzwei\n")
    read, tally = do("lines", tmp_path)
    assert [(one.id, one.language, one.messages[0].content) for one in read] == [
        ("deu:1", "de", "eins"), ("deu:3", "de", "zwei"), ("zho-TW:1", "zh-Hant", "eins"), ("zho-TW:3", "zh-Hant", "zwei"),
    ]  # fmt: skip
    assert tally.left == {("messages", "blank line"): 2}


@pytest.mark.parametrize("path", ["bfcl", "functionchat"])
def test_the_registry_has_every_module(path: str) -> None:
    folder = Path(str(importer(path).__dict__["__file__"])).parent
    helpers = {"__init__", "base", "chat", "registry"}
    assert set(FORMATS) == {file.stem for file in folder.glob("*.py")} - helpers


REAL: list[tuple[str, str, tuple[int, int, int]]] = [
    # format, path, (conversations, messages, questions read) as the data's own README counts them
    ("locomo", "locomo/locomo10.json", (10, 5_882, 1_986)),
    ("longmemeval", "longmemeval/original_schema_2q.json", (2, 48, 2)),
    ("longmemeval", "longmemeval/s_single_question.json", (1, 550, 1)),
    ("longmemeval", "longmemeval/oracle16_rekeyed.json", (16, 306, 16)),
    ("bfcl", "bfcl", (5, 323, 155)),
    ("tau_bench", "tau-bench", (200, 5_308, 0)),
    ("functionchat", "functionchat", (45, 402, 0)),
    ("swe_agent", "swe-agent", (18, 413, 0)),
    ("kdconv", "kdconv", (450, 9_737, 8_802)),
    ("mt_bench", "mtbench-multilingual", (1_119, 4_376, 0)),
    ("squad", "xquad", (2_880, 18_691, 14_280)),
    ("lines", "ntrex", (32_000, 32_000, 0)),
]


@pytest.mark.parametrize(("name", "path", "counts"), REAL, ids=[path for _, path, _ in REAL])
def test_real_files_are_accounted_for(shared: Path, name: str, path: str, counts: tuple[int, int, int]) -> None:
    read, tally = do(name, shared / "data" / path)
    assert (tally.read["conversations"], tally.read["messages"], tally.read["questions"]) == counts
    for thing in ("conversations", "messages", "questions"):
        left = sum(count for (what, _), count in tally.left.items() if what == thing)
        assert tally.read[thing] == tally.kept[thing] + left
    assert len(read) == counts[0]
    assert all(one.messages for one in read)


def test_real_tool_calls_and_quotes(shared: Path) -> None:
    _, tally = do("tau_bench", shared / "data" / "tau-bench")
    assert tally.notes["tool calls"] == 1_164
    _, tally = do("bfcl", shared / "data" / "bfcl")
    assert tally.notes["sessions, joined by scenario"] == 37


Make = Callable[[Path], Path]


def bad(name: str, data: bytes) -> Make:
    def make(folder: Path) -> Path:
        (folder / name).write_bytes(data)
        return folder / name

    return make


@pytest.mark.parametrize(
    ("name", "make", "what"),
    [
        (
            "locomo",
            bad("x.json", b'[{"qa": [], "conver'),
            r"x\.json: .*truncated; the end of the file or line is missing",
        ),
        ("openai", bad("x.jsonl", b'{"messages": []}\n{"messages": [\n'), r"x\.jsonl:2: .*truncated"),
        ("openai", bad("x.jsonl", b'{"messages": []}\n{"messages": "\xff"}\n'), r"x\.jsonl:2: .*not UTF-8"),
        ("openai", bad("x.jsonl", '{"messages": []}'.encode("utf-16")), "the file is UTF-16; convert it to UTF-8"),
        ("openai", bad("x.jsonl", b'{"messages": [{"role": null, "content": "x"}]}\n'), r"message 0: .*`str`.*role"),
        ("openai", bad("x.jsonl", b'{"messages": [{"role": "user", "content": 5}]}\n'), r"message 0: .*content"),
        ("openai", bad("x.jsonl", b""), "the file is empty"),
        (
            "sharegpt",
            bad("x.json", json.dumps([LOCOMO]).encode()),
            r"'conversations' is missing .*it looks like locomo",
        ),
        ("locomo", bad("x.jsonl", b'{"messages": [{"role": "user", "content": "x"}]}\n'), "it looks like openai"),
        (
            "sharegpt",
            bad("x.json", b'[{"conversations": [{"from": "alien", "value": "x"}]}]'),
            "unknown speaker 'alien'",
        ),
        (
            "sharegpt",
            bad("x.json", b'[{"conversations": [{"from": "gpt", "value": null}]}]'),
            "field 'value' is missing",
        ),
        ("lines", bad("qqzz.txt", b"nuqneH\n"), "no language that is known"),
        ("lines", bad("deu.txt", b"gut\n\xe4rger\n"), r"deu\.txt:2: not UTF-8 at byte 0"),
        ("locomo", lambda folder: folder / "none.json", "no such file or folder"),
        ("swe_agent", lambda folder: folder, r"no \*\.traj below this folder"),
        ("bfcl", lambda folder: folder, "give the folder that holds it"),
    ],
)
def test_bad_input_is_one_line_with_its_place(tmp_path: Path, name: str, make: Make, what: str) -> None:
    with pytest.raises(CtxbenchError, match=what) as error:
        do(name, make(tmp_path))
    assert "\n" not in str(error.value)


def test_a_byte_order_mark_is_no_part_of_the_data(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(codecs.BOM_UTF8 + b'{"id": "a", "messages": [{"role": "user", "content": "x"}]}\n')
    assert do("openai", path)[0][0].id == "a"


def test_a_very_long_line_is_read(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"messages": [{"role": "user", "content": "x" * 20_000_000}]}])
    assert len(content_text(do("openai", path)[0][0].messages[0])) == 20_000_000


def test_two_conversations_of_one_id_are_told(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "x.jsonl", [{"id": "a", "messages": [{"role": "user", "content": "x"}]}] * 2)
    with pytest.raises(CtxbenchError, match="two conversations have the id 'a'"):
        do("openai", path)


def test_records_of_lists_objects_and_lines_have_places(tmp_path: Path) -> None:
    assert [place for place, _ in read_records(write(tmp_path / "l.json", [1, 2]))] == [
        f"{tmp_path}/l.json[0]",
        f"{tmp_path}/l.json[1]",
    ]
    pretty = tmp_path / "o.json"
    pretty.write_text('{\n "a": 1\n}\n')
    assert list(read_records(pretty)) == [(str(pretty), {"a": 1})]
    lines = write_lines(tmp_path / "x.jsonl", [{"a": 1}, {"a": 2}])
    assert [place for place, _ in read_records(lines)] == [f"{lines}:1", f"{lines}:2"]
