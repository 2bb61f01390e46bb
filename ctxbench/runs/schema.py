"""The rows of a run, a column a field. What is written here is all that reports read.

`SCHEMA_VERSION` rises when a field changes its meaning or goes.
"""

import msgspec

SCHEMA_VERSION = 3


class ContextRow(msgspec.Struct):
    """One context that was asked for: at an assistant turn, or where probes are asked.

    Tokens are the exact tokenizer's, over role, content and calls; estimates are the
    estimator's, over the same texts. `seen` is the number of messages replayed so far.
    """

    conversation: str
    language: str
    budget: str
    """As it was asked for: tokens, or a fraction of the conversation's tokens."""
    budget_tokens: int
    seen: int
    turn: bool
    """Whether a model would be asked here; else only probes are."""
    tokens_full: int
    tokens_context: int
    prefix_tokens: int
    """Tokens at the head of the context that are the same as in the context before: what a provider can cache."""
    estimate_full: int
    estimate: int
    over_budget: bool
    """tokens_context > budget_tokens: the request would be larger than was allowed."""
    outcome: str
    failure: str | None
    round: int
    """Compressions of this session so far."""
    kept: int
    dropped: int
    added: int
    """Messages of the history that stand in the context, that do not, and messages that are new (summaries)."""
    inflated: bool
    """The estimate is larger after compressing than before."""
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    truncated_replies: int
    latency_ms: float
    """Wall time of building the context: load, estimate, compress, model calls included."""
    validity: list[str]
    """Rules of any provider's profile that the context breaks, after repair."""
    repairs: list[str]
    """What `repair` changed."""


class RetentionRow(msgspec.Struct):
    """One probe, scored on the context at the point where it is asked."""

    conversation: str
    language: str
    probe: str
    category: str
    position: float | None
    """Where the evidence stands among the messages seen: 0 first, 1 last; None without evidence."""
    strategy: str
    summarizer: str
    budget: str
    budget_tokens: int
    round: int
    """0 at the end of the conversation; k after k further stretches of other talk."""
    retained: bool | None
    """Whether the answer is found in the context; None for probes without an answer."""
    retained_full: bool | None
    """The same for the whole history: the ceiling."""
    retained_empty: bool | None
    """The same for the system messages alone: the floor."""
    retained_oracle: bool | None
    """The same for the evidence alone, within the budget: what a perfect choice would keep."""
    retained_random: bool | None
    """The same for random messages up to the budget."""
    stale: bool | None
    """Whether an outdated value stands in the context; None where there is none."""
    recall: float | None
    """Share of the evidence's wording that stands in the context."""
    answer: str | None
    """What a reader model answered from the context; None without a reader."""
    answered: bool | None
    """Whether that is right: an alias stands in it, or it says UNKNOWN where nothing was said."""
    exact: bool | None
    f1: float | None
    judged: bool | None
    """The grade of a judge model; None without one, or when it gave none."""
    tokens_full: int
    tokens_context: int
    estimate: int
    over_budget: bool
    kept: int
    dropped: int
    added: int
    model_calls: int
    prompt_tokens: int
    completion_tokens: int
    latency_ms: float
    validity: list[str]


class EstimationRow(msgspec.Struct):
    """One text: what each tokenizer counts and each estimator estimates, in tokens."""

    text: str
    """`conversation#message`."""
    conversation: str
    language: str
    parallel: str | None
    """What says the same in other languages under the same name; None where nothing does."""
    kind: str
    characters: int
    tokens: dict[str, int]
    estimates: dict[str, int]


class ContextEstimateRow(msgspec.Struct):
    """One context: the history before an assistant turn, in tokens.

    `tokens` are of the texts, as in the other rows; `prompt` is the whole request with the
    provider's framing and tool schemas.
    """

    conversation: str
    language: str
    seen: int
    tokens: dict[str, int]
    prompt: dict[str, int]
    estimates: dict[str, int]
