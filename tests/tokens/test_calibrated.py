import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ctxbench.conversation.dataset import load_dataset
from ctxbench.conversation.model import Conversation, Message
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.estimation import estimate_contexts
from ctxbench.parts import build_option
from ctxbench.stats.estimation import ErrorTable
from ctxbench.tokens.calibration import fit, labelled_texts
from ctxbench.tokens.estimators.calibrated import Calibrated, load_weights
from ctxbench.tokens.estimators.features import GROUPS, LETTERS, features
from ctxbench.tokens.estimators.observed import Observed
from ctxbench.tokens.tokenizers import CachedTokenizer
from tests.fit_calibrated import TOKENIZERS, generated


def feature(text: str, group: str, part: int) -> float:
    """Characters (0), runs (1) or deep characters (2) of a group."""
    return float(features([text])[0][0, part * len(GROUPS) + GROUPS.index(group)])


def test_features_by_hand() -> None:
    text = "Hi there, internationally 42!\n好的Привет"
    assert [feature(text, "lower", part) for part in range(3)] == [1 + 5 + 15, 3, 15 - 8]
    assert [feature(text, "upper", part) for part in range(2)] == [1, 1]
    assert feature(text, "digit", 0) == 2
    assert feature(text, "ascii_mark", 0) == 2
    assert feature(text, "han", 0) == 2
    assert feature(text, "cyrillic", 1) == 1
    assert feature(text, "line", 0) == 1


texts = st.lists(st.text(st.characters(), max_size=40), max_size=6)


@given(texts)
def test_features_of_many_are_those_of_each(many: list[str]) -> None:
    grouped, letters = features(many)
    assert grouped.shape == (len(many), 3 * len(GROUPS))
    assert letters.shape == (len(many), LETTERS)
    for index, text in enumerate(many):
        one, its_letters = features([text])
        assert np.array_equal(grouped[index], one[0])
        assert np.array_equal(letters[index], its_letters[0])
        assert grouped[index, : len(GROUPS)].sum() == letters[index].sum() == len(text)


@given(texts)
@example(["", "0", "00", "=JTZ\\\x9aÀ"])
def test_a_batch_gives_what_each_text_gives_alone(many: list[str]) -> None:
    estimator = Calibrated()
    estimator.prepare(many)
    assert [estimator.estimate_text(text) for text in many] == [Calibrated().estimate_text(text) for text in many]


def conversations(language: str, words: list[str], count: int) -> list[Conversation]:
    rng = random.Random(1)
    return [
        Conversation(
            f"{language}{n}", language, "", [Message("user", " ".join(rng.choices(words, k=rng.randint(5, 30))))]
        )
        for n in range(count)
    ]


def test_fitting_recovers_what_the_tokens_were_made_of() -> None:
    data = conversations("en", ["the", "cat", "sat"], 100) + conversations("ru", ["кот", "спал", "дом"], 100)
    # A tokenizer by hand: two tokens a Latin word, one a Cyrillic letter.
    made = CachedTokenizer(
        "made", lambda many: [2 * len(t.split()) if t.isascii() else sum(c != " " for c in t) for t in many]
    )
    weights = fit(labelled_texts(data), [made], fitted="today", data="made")
    assert weights.profiles == ["en", "ru"]
    assert all(value >= 0 for rows in weights.weights.values() for row in rows for value in row)


def test_fitted_weights_estimate_unseen_text_well(tmp_path: Path) -> None:
    import msgspec

    tokenizer = build_option("tokenizer", "o200k_base")
    data = conversations("en", ["a", "message", "about", "the", "delivery", "of", "parcels", "and", "invoices"], 200)
    path = tmp_path / "weights.json"
    path.write_bytes(msgspec.json.encode(fit(labelled_texts(data[:150]), [tokenizer], fitted="", data="")))
    estimator = Calibrated("o200k_base", str(path))
    for conversation in data[150:]:
        text = str(conversation.messages[0].content)
        assert estimator.estimate_text(text) == pytest.approx(tokenizer.count(text), rel=0.25, abs=2)


@pytest.mark.parametrize("name", TOKENIZERS)
def test_shipped_weights_on_conversations_that_they_were_not_fitted_on(name: str) -> None:
    """Contexts of the bundled conversations, and what usage figures of the provider make of it."""
    tokenizers = {name: build_option("tokenizer", name)}
    estimator = Calibrated(name)
    data = [one for one in load_dataset("core").conversations if "parallel" in one.tags]
    pair = {"calibrated": estimator, "observed": Observed(estimator)}
    rows = [
        {"conversation": row.conversation, "language": row.language, "seen": row.seen, "prompt": row.prompt,
         "tokens": row.tokens, "estimates": row.estimates}
        for one in data
        for row in estimate_contexts(one, pair, tokenizers, observed=name)
    ]  # fmt: skip
    long = [row for row in rows if row["tokens"][name] >= 1000]  # type: ignore[index]
    errors = {(row.estimator, row.group): row.mae.mean for row in ErrorTable(long).summarise("language") if row.mae}
    plain = [value for (estimator_name, _), value in errors.items() if estimator_name == "calibrated"]
    assert len(plain) == 16
    assert sum(plain) / len(plain) < 0.06
    assert max(plain) < 0.15
    later = [row for row in rows if row["seen"] > 2]  # type: ignore[operator]
    observed = [
        row.mae.mean
        for row in ErrorTable(later, "prompt").summarise("language")
        if row.estimator == "observed" and row.mae
    ]
    assert max(observed) < 0.03


@pytest.mark.parametrize("name", TOKENIZERS)
def test_shipped_weights_on_base64_hashes_logs_and_emoji(name: str) -> None:
    tokenizer, estimator = build_option("tokenizer", name), Calibrated(name)
    kinds = list(zip(*[[str(m.content) for m in one.messages] for one in generated(99)], strict=True))
    for many in kinds:
        assert estimator.estimate([Message("", text) for text in many]) == pytest.approx(
            sum(tokenizer.count_batch(many)), rel=0.1
        )


def test_languages_are_guessed() -> None:
    texts = [
        "Der Hund schläft heute unter dem Tisch.",
        "今日は雨が降っています。",
        '{"id": 17, "ok": true, "name": "x"}',
    ]
    assert Calibrated().profiles_of(texts) == ["de", "ja", "json"]


def test_too_little_data_and_wrong_files_are_told(tmp_path: Path) -> None:
    with pytest.raises(CtxbenchError, match="0 texts are too few"):
        fit({}, [], fitted="", data="")
    with pytest.raises(CtxbenchError, match="no weights for 'gpt9'; known: cl100k_base, o200k_base, qwen3.6"):
        Calibrated("gpt9")
    with pytest.raises(CtxbenchError, match="no such file of weights"):
        load_weights(tmp_path / "none.json")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(CtxbenchError, match="not a file of weights"):
        load_weights(tmp_path / "bad.json")
