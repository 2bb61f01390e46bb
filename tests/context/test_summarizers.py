from collections.abc import Sequence

import pytest

from ctxbench.context.failures import CompressionFailed
from ctxbench.context.information import GRAIN
from ctxbench.context.summarizers import extractive
from ctxbench.context.summarizers.base import transcript
from ctxbench.context.summarizers.extractive import ExtractiveSummarizer
from ctxbench.context.summarizers.llm import LlmSummarizer
from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import FunctionCall, Message, ToolCall, content_text
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import Purpose, Reply
from ctxbench.text.sentences import LONGEST, split_sentences
from ctxbench.tokens.estimators.bytes4 import Bytes4
from ctxbench.tokens.estimators.chars4 import Chars4
from tests.conftest import chat


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Is it 1.5 or 2.5? Yes", ["One.", "Two!", "Is it 1.5 or 2.5?", "Yes"]),
        ("他说：“好。”然后走了。再见！", ["他说：“好。”", "然后走了。", "再见！"]),
        ("今日は雨。明日は？晴れ", ["今日は雨。", "明日は？", "晴れ"]),
        ("यह एक है। यह दो है॥ तीन", ["यह एक है।", "यह दो है॥", "तीन"]),
        ("كيف الحال؟ بخير.", ["كيف الحال؟", "بخير."]),
        ("สวัสดีครับ ขอเลื่อนนัด", ["สวัสดีครับ", "ขอเลื่อนนัด"]),
        ("a\n\nb\n", ["a", "b"]),
        ("", []),
    ],
)
def test_sentences_of_many_scripts(text: str, sentences: list[str]) -> None:
    assert list(split_sentences(text)) == sentences


def test_what_is_very_long_is_cut_and_nothing_is_lost() -> None:
    text = "word " * 300
    parts = split_sentences(text)
    assert all(len(part) <= LONGEST for part in parts)
    assert " ".join(parts).split() == text.split()
    assert "".join(split_sentences("x" * 1000)) == "x" * 1000


@pytest.mark.parametrize("language", ["en", "zh", "ja", "ar", "hi", "th", "ko", "ta"])
def test_an_extract_is_of_the_text_in_order_within_the_limit_and_the_same_again(language: str) -> None:
    conversation = load_dataset("core", languages=[language], limit=1).conversations[0]
    summarizer = ExtractiveSummarizer(Bytes4())
    summary = summarizer.summarize(conversation.messages[1:], 300)
    assert 150 < Bytes4().estimate_text(summary) <= 300
    assert summary == ExtractiveSummarizer(Bytes4()).summarize(conversation.messages[1:], 300)
    places = [
        next(i for i, message in enumerate(conversation.messages) if _is_extract(line, message))
        for line in summary.splitlines()
    ]
    assert places == sorted(set(places))


def _is_extract(line: str, message: Message) -> bool:
    """Whether a line is some of the message's sentences in their order, behind its role."""
    rest = line.removeprefix(f"[{message.role}] ")
    calls = [f"{call.function.name}({call.function.arguments})" for call in message.tool_calls]
    for sentence in [*split_sentences(content_text(message)), *calls]:
        if rest.startswith(sentence):
            rest = rest[len(sentence) :].lstrip()
    return not rest


def test_an_extract_leaves_repetitions_out() -> None:
    said = "The parcel HX-48213 goes to 14 Harbour Lane on Friday."
    summary = ExtractiveSummarizer(Chars4()).summarize(chat(said, "Noted.", said, said, system=None), 200)
    assert summary.count("HX-48213") == 1


def test_an_extract_prefers_what_is_rare_for_its_length() -> None:
    small_talk = ["It is nice to hear from you again and I hope that you are well and that all is well."] * 3
    facts = "Order HX-48213, Friday 09:30."
    summary = ExtractiveSummarizer(Chars4()).summarize(chat(*small_talk, facts, system=None), 14)
    assert summary == f"[assistant] {facts}"


def test_nothing_fits_is_a_failure_that_would_come_again() -> None:
    with pytest.raises(CompressionFailed, match="no sentence fits into 3 tokens") as failure:
        ExtractiveSummarizer(Chars4()).summarize(chat("A sentence that is longer than that.", system=None), 3)
    assert failure.value.final


CALL = Message("assistant", None, tool_calls=(ToolCall("c1", FunctionCall("find", '{"q": 1}')),))


def test_transcripts_show_calls_unless_the_original_is_wanted() -> None:
    messages = [Message("user", "hi"), CALL]
    assert transcript(messages) == '[user] hi\n\n[assistant] find({"q": 1})\n'
    assert transcript(messages, tool_calls=False) == "[user] hi\n\n[assistant] \n"


class Answers:
    name = "answers"

    def __init__(self, text: str | None, finish_reason: str = "stop") -> None:
        self.reply = Reply(text, finish_reason, 10, 5)
        self.prompts: list[str] = []

    def complete(self, messages: Sequence[Message], *, purpose: Purpose, temperature: float, max_tokens: int) -> Reply:
        assert (purpose, temperature) == ("summary", 0.3)
        self.prompts.append(content_text(messages[0]))
        return self.reply


def test_the_prompt_names_the_language_and_holds_the_transcript() -> None:
    model = Answers(" Ein Satz. ")
    summarizer = LlmSummarizer(model, "Write in {language}:\n", language="de")
    assert summarizer.summarize([Message("user", "Hallo")], 50) == "Ein Satz."
    assert model.prompts == ["Write in German:\n[user] Hallo\n"]


def test_a_summary_that_was_cut_off_ends_with_its_last_whole_sentence() -> None:
    assert LlmSummarizer(Answers("One. Two. Thr", "length"), "p").summarize([CALL], 5) == "One. Two."
    with pytest.raises(CompressionFailed, match="truncated"):
        LlmSummarizer(Answers("One and tw", "length"), "p").summarize([CALL], 5)


def test_no_text_is_no_summary() -> None:
    assert LlmSummarizer(Answers(None), "p").summarize([CALL], 5) is None


def test_a_prompt_with_another_field_is_refused() -> None:
    with pytest.raises(CtxbenchError, match="{language} is the only field"):
        LlmSummarizer(Answers("x"), "Write {what}")


def test_sentence_weights_are_those_of_scikit_learn() -> None:
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import TfidfTransformer

    sentences = ["The order is HX-48213.", "The order is late, late, late.", "我们决定改到三月十四日。", "So it is."]
    rows = extractive._grams(sentences)
    counts = csr_matrix((len(sentences), extractive.FEATURES)).tolil()
    for place, (columns, values) in enumerate(rows):
        counts[place, columns] = values
    theirs = TfidfTransformer(norm=None, sublinear_tf=True).fit_transform(counts.tocsr())
    for place, (columns, weights) in enumerate(extractive._weighted(sentences)):
        assert weights == pytest.approx(theirs[place, columns].toarray().ravel(), abs=1 / GRAIN)
