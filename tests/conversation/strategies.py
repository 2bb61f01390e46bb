"""Hypothesis strategies: any message, any conversation that can stand on disk."""

from hypothesis import strategies as st

from ctxbench.conversation.model import Conversation, FunctionCall, Message, Probe, ToolCall

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
names = st.text("abcdefgh_", min_size=1, max_size=8)
json = st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | text, lambda inner: st.lists(inner, max_size=3))
extra = st.dictionaries(names.map("x_".__add__), json, max_size=2)
calls = st.builds(ToolCall, id=names, function=st.builds(FunctionCall, names, text, extra), extra=extra)
parts = st.lists(
    st.builds(lambda value: {"type": "text", "text": value}, text)
    | st.just({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}),
    max_size=3,
)
messages = st.builds(
    Message,
    role=st.sampled_from(["system", "user", "assistant", "tool", "developer"]),
    content=text | st.none() | parts,
    name=st.none() | names,
    tool_calls=st.lists(calls, max_size=3).map(tuple),
    tool_call_id=st.none() | names,
    extra=extra,
)
probes = st.builds(
    Probe,
    id=names,
    question=text,
    answers=st.lists(text, max_size=3),
    category=names,
    evidence=st.lists(st.integers(0, 5), max_size=3),
    also=st.lists(st.lists(text, min_size=1, max_size=2), max_size=2),
    stale=st.lists(text, max_size=2),
    after=st.none() | st.integers(0, 5),
    extra=extra,
)
conversations = st.builds(
    Conversation,
    id=names,
    language=st.sampled_from(["en", "zh-Hans", "ar"]),
    source=text,
    messages=st.lists(messages, max_size=6),
    scenario=text,
    tags=st.lists(names, max_size=2),
    probes=st.lists(probes, max_size=3),
    extra=extra,
)
