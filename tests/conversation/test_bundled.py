"""Tests on the data: what the bundled conversations promise."""

import re
from collections import Counter, defaultdict

from ctxbench.conversation.dataset import load_dataset
from ctxbench.resources import datasets_folder
from ctxbench.stats.datasets import datasheet
from ctxbench.tokens.vocab import tiktoken_encoding

CORE = load_dataset("core").conversations
CATEGORIES = {
    "absent", "constraint", "date", "decision", "fact", "identifier", "multi", "number", "preference", "tool_result",
    "update",
}  # fmt: skip


def test_there_is_enough_of_it() -> None:
    assert len(CORE) >= 48
    assert sum(len(one.probes) for one in CORE) >= 400
    assert {
        "en", "zh-Hans", "zh-Hant", "ja", "ko", "ar", "he", "hi", "ta", "th", "vi", "ru", "de", "fr", "tr", "sw",
    } <= {one.language for one in CORE}  # fmt: skip
    assert sum(file.stat().st_size for file in datasets_folder().rglob("*") if file.is_file()) < 8_000_000


def test_kinds_of_conversations() -> None:
    assert sum(len(one.messages) >= 80 for one in CORE) >= 6
    assert sum(any(message.tool_calls for message in one.messages) for one in CORE) >= 8
    assert sum(any(len(message.tool_calls) > 1 for message in one.messages) for one in CORE) >= 8
    tags = Counter(tag for one in CORE for tag in one.tags)
    assert tags["code"] >= 4
    assert tags["mixed"] >= 2


def test_every_category_in_every_language() -> None:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for one in CORE:
        found[one.language] |= {probe.category for probe in one.probes}
    assert {language: CATEGORIES - categories for language, categories in found.items()} == {
        language: set() for language in found
    }


def test_parallel_stories_have_the_same_probes_in_every_language() -> None:
    stories = defaultdict(list)
    for one in CORE:
        if "parallel" in one.tags:
            stories[one.scenario].append({(probe.id, probe.category) for probe in one.probes})
    assert set(stories) == {"support", "travel", "migration", "clinic"}
    for probes in stories.values():
        assert len(probes) == 16
        assert all(one == probes[0] for one in probes)


def test_updates_have_a_stale_value_that_was_really_said() -> None:
    from ctxbench.scoring.retained import found, haystack

    for one in CORE:
        for probe in one.probes:
            if probe.category == "update":
                assert probe.stale, f"{one.id}/{probe.id}"
                first = haystack(one.messages[: max(probe.evidence)])
                assert found(probe.stale, first), f"{one.id}/{probe.id}"


def test_evidence_is_spread_over_the_conversations() -> None:
    positions = [
        sum(probe.evidence) / len(probe.evidence) / (len(one.messages) - 1)
        for one in CORE
        for probe in one.probes
        if probe.evidence
    ]
    thirds = Counter(min(2, int(3 * position)) for position in positions)
    assert all(count > 0.2 * len(positions) for count in thirds.values())


def test_the_datasheet_shows_the_statistics() -> None:
    text = (datasets_folder() / "core" / "README.md").read_text("utf-8")
    match = re.search(r"<!-- statistics -->\n(.*)<!-- end -->", text, re.DOTALL)
    assert match is not None
    assert match[1] == datasheet(CORE, tiktoken_encoding("o200k_base"))
