import base64

import pytest

from ctxbench.text.kinds import KINDS, kind_of

CODE = "def f(x):\n    return x + 1\n\nfor i in range(3):\n    print(f(i))\n"
TRACE = 'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    x = y[0];\nIndexError: list index out of range'
LOG = "2026-01-01T10:00:00Z INFO start\n2026-01-01T10:00:01Z WARN retry n=3\n2026-01-01T10:00:02Z ERROR stop"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("Could you check the invoice, please?", "chat"),
        ("请把发票改一下。", "chat"),
        ('{"id": 1, "items": [2, 3]}', "json"),
        ("[not json]", "chat"),
        (base64.b64encode(bytes(range(256))).decode(), "base64"),
        ("🚀🔥🎉 ✅ 🇨🇳", "emoji"),
        (LOG, "log"),
        (CODE, "code"),
        (TRACE, "code"),
        ("please use the настройки приложения for this", "mixed"),
        ("", "chat"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind_of(text) == kind
    assert kind in KINDS
