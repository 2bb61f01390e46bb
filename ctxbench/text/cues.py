"""Words that mark a rule, a decision or a question, in the languages of the bundled data.

A short list a language: stems and set phrases that chats use, not a grammar. A text in
another language has no cues, which is no error: it is then judged by the rest.
"""

import string
from collections.abc import Iterable
from functools import lru_cache

import regex

from ctxbench.text.words import REMEMBERED, UNSPACED

RULES = (
    "must", "always", "never", "do not", "don't", "only", "please note", "important", "from now on", "make sure",
    "immer", "niemals", "nie", "bitte nicht", "nur", "wichtig", "ab jetzt", "darf", "dürfen", "muss",
    "toujours", "jamais", "ne pas", "seulement", "uniquement", "important", "désormais", "doit",
    "siempre", "nunca", "solo", "debe", "importante",
    "всегда", "никогда", "нельзя", "только", "важно", "должен", "должна", "не надо",
    "her zaman", "asla", "sakın", "sadece", "önemli", "lütfen", "olmasın",
    "luôn", "không được", "đừng", "chỉ", "quan trọng", "phải", "nhớ",
    "daima", "kamwe", "tafadhali", "muhimu", "lazima", "usi",
    "دائما", "أبدا", "لا تستخدم", "فقط", "مهم", "يجب", "ممنوع",
    "תמיד", "אף פעם", "אסור", "רק", "חשוב", "חייב", "בבקשה",
    "हमेशा", "कभी", "मत", "सिर्फ", "केवल", "ज़रूरी", "कृपया",
    "எப்போதும்", "ஒருபோதும்", "வேண்டாம்", "மட்டும்", "முக்கியம்", "கூடாது",
    "ต้อง", "ห้าม", "เท่านั้น", "อย่า", "สำคัญ", "เสมอ",
    "必须", "必須", "不要", "务必", "務必", "只能", "一律", "永远", "永遠", "请勿", "請勿", "重要",
    "必ず", "絶対", "しないで", "だけ", "禁止", "大事", "いつも",
    "반드시", "항상", "절대", "하지 마", "만 ", "중요", "꼭",
)  # fmt: skip
DECISIONS = (
    "agreed", "decided", "we'll go with", "let's go with", "confirmed", "final", "instead", "changed to",
    "i take", "deal",
    "entschieden", "einverstanden", "nehmen", "abgemacht", "bestätigt", "stattdessen", "endgültig",
    "décidé", "d'accord", "confirmé", "on part sur", "finalement", "plutôt",
    "decidido", "confirmado", "de acuerdo", "acordado",
    "решили", "договорились", "подтверждаю", "окончательно", "берём", "вместо",
    "karar", "anlaştık", "onay", "kesinleşti", "yerine",
    "quyết định", "đồng ý", "chốt", "xác nhận", "thay vì",
    "tumekubaliana", "nimeamua", "imethibitishwa", "badala",
    "اتفقنا", "قررنا", "قررت", "تأكيد", "بدلا", "החלטנו", "החלטתי", "סיכמנו", "מאשר", "במקום",
    "तय", "फैसला", "पक्का", "ठीक है", "के बजाय",
    "முடிவு", "உறுதி", "சரி", "பதிலாக",
    "ตกลง", "ตัดสินใจ", "ยืนยัน", "แทน",
    "决定", "決定", "确认", "確認", "就这样", "就這樣", "改成", "改为", "改為", "定了",
    "決め", "決まり", "確定", "にします", "変更",
    "결정", "확정", "하기로", "확인", "변경", "대신",
)  # fmt: skip
_MARKS_APART = str.maketrans(dict.fromkeys(set(string.punctuation) - {"'", "-"}, " "))
_QUESTION_MARKS = frozenset("?？؟՞")
_QUESTION_ENDS = ("か", "か。", "吗", "吗。", "嗎", "嗎。", "呢", "呢。")


class _Cues:
    """Looks for whole words where the script has spaces between words, for strings elsewhere."""

    def __init__(self, cues: Iterable[str]) -> None:
        spaced = [cue.strip() for cue in cues if not _GLUED.search(cue)]
        self._words = frozenset(cue for cue in spaced if " " not in cue)
        self._phrases: dict[str, list[str]] = {}  # by first word
        for cue in spaced:
            if " " in cue:
                self._phrases.setdefault(cue.split()[0], []).append(cue)
        self._glued = [cue for cue in cues if _GLUED.search(cue)]

    def stand_in(self, lower: str, words: set[str]) -> bool:
        if not self._words.isdisjoint(words):
            return True
        if any(phrase in lower for first in self._phrases.keys() & words for phrase in self._phrases[first]):
            return True
        return not lower.isascii() and any(cue in lower for cue in self._glued)


_GLUED = regex.compile(rf"[{UNSPACED}\p{{Hangul}}]")
_RULE, _DECISION = _Cues(RULES), _Cues(DECISIONS)


@lru_cache(REMEMBERED)
def cues(text: str) -> tuple[bool, bool, bool]:
    """Whether a text looks like a rule, like a decision, and like a question."""
    lower = text.lower()
    words = set(lower.translate(_MARKS_APART).split())
    question = not _QUESTION_MARKS.isdisjoint(text) or text.rstrip().endswith(_QUESTION_ENDS)
    return _RULE.stand_in(lower, words), _DECISION.stand_in(lower, words), question
