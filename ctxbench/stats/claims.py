"""What is said of characters / 4, held against what was measured, each with a verdict."""

from collections.abc import Sequence

import msgspec

from ctxbench.experiments.speed import Speed
from ctxbench.stats.estimation import EstimationSummary

ESTIMATOR, TOKENIZER = "chars4", "o200k_base"


class Claim(msgspec.Struct):
    """A claim, whether it holds on this data, and the figures that decide."""

    claim: str
    verdict: str
    measured: str


def claims(by_language: Sequence[EstimationSummary], speeds: Sequence[Speed]) -> list[Claim]:
    """The four claims; a claim without data says so."""
    bias = {
        row.group: row.bias.mean
        for row in by_language
        if (row.estimator, row.tokenizer) == (ESTIMATOR, TOKENIZER) and row.bias is not None
    }
    chinese = {language: value for language, value in bias.items() if language.startswith("zh")}
    english = {language: value for language, value in bias.items() if language == "en"}
    time = next((speed.us_per_text for speed in speeds if speed.name == ESTIMATOR), None)
    return [
        _claim("the estimate is about ±20 % off", _all_within(bias, 0.2), _list(bias)),
        _claim("it is accurate for English (within 10 %)", _all_within(english, 0.1), _list(english)),
        _claim("it underestimates Chinese", _all_below(chinese), _list(chinese)),
        _claim("it takes microseconds a message", None if time is None else time < 10, f"{time or 0:.2f} µs"),
    ]


def markdown(found: Sequence[Claim], dataset: str) -> str:
    """The claims as a page."""
    lines = [
        "# What is said of characters / 4",
        "",
        f"Measured on the dataset `{dataset}`: bias, sum(estimate) / sum(tokens) - 1, against `{TOKENIZER}`,",
        "all messages of a language together. Made by `python -m ctxbench task=estimation`.",
        "",
        "| claim | verdict | measured |",
        "|---|---|---|",
        *(f"| {one.claim} | {one.verdict} | {one.measured} |" for one in found),
    ]
    return "\n".join(lines) + "\n"


def _claim(text: str, holds: bool | None, measured: str) -> Claim:
    verdict = "no data" if holds is None or not measured else "holds" if holds else "does not hold"
    return Claim(text, verdict, measured or "–")


def _all_within(bias: dict[str, float], limit: float) -> bool | None:
    return all(abs(value) <= limit for value in bias.values()) if bias else None


def _all_below(bias: dict[str, float]) -> bool | None:
    return all(value < 0 for value in bias.values()) if bias else None


def _list(bias: dict[str, float]) -> str:
    return ", ".join(f"{name} {100 * value:+.0f} %" for name, value in sorted(bias.items()))
