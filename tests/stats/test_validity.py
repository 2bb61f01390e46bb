import pandas as pd
import pytest

from ctxbench.stats.validity import rules_broken, valid_shares


def test_shares_of_valid_contexts() -> None:
    contexts = pd.DataFrame(
        {
            "conversation": ["a", "a", "b", "b"],
            "validity": [[], ["system_not_first"], ["orphan_tool_result", "first_not_user"], ["system_not_first"]],
        }
    )
    shares = {profile: share.mean for profile, share in valid_shares(contexts).items() if share is not None}
    assert shares == pytest.approx({"openai": 0.75, "anthropic": 0.75, "mistral": 0.25, "qwen": 0.5})
    assert rules_broken(contexts) == {"system_not_first": 2, "orphan_tool_result": 1, "first_not_user": 1}
