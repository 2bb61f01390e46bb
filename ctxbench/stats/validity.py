"""Which share of the contexts each provider's profile would accept, and which rules the others break."""

from collections import Counter
from typing import TYPE_CHECKING

from ctxbench.conversation.validity import PROFILES, is_valid
from ctxbench.stats.intervals import Mean, proportion

if TYPE_CHECKING:
    import pandas as pd


def valid_shares(contexts: "pd.DataFrame", seed: int = 0) -> dict[str, Mean | None]:
    """Profile -> the share of contexts that keep all its rules, clustered by conversation."""
    broken = contexts["validity"].map(tuple)
    clusters = contexts["conversation"].tolist()
    shares = {}
    for profile in PROFILES:
        accepted = {rules: float(is_valid(rules, profile)) for rules in broken.unique()}
        shares[profile] = proportion(broken.map(accepted).tolist(), clusters, seed)
    return shares


def rules_broken(contexts: "pd.DataFrame") -> dict[str, int]:
    """Rule -> the contexts that break it, most first."""
    return dict(Counter(rule for rules in contexts["validity"] for rule in rules).most_common())
