"""llm: a language model judges answers, and is itself examined before it is believed.

The examination plants answers that are known to be right (an alias) or wrong (an
outdated value, an answer to another question) and counts what the judge says of them.
Text decides what is planted: see `answered`. Whether a judge that is not trusted is
still used is up to the caller.
"""

import random
from collections.abc import Iterable, Iterator, Sequence

import msgspec
import regex

from ctxbench.conversation.model import Conversation, Message, Probe
from ctxbench.errors import CtxbenchError
from ctxbench.models.base import ChatModel
from ctxbench.scoring.answered import UNKNOWN, score_answer
from ctxbench.scoring.readers import checked_prompt
from ctxbench.scoring.retained import found
from ctxbench.text.normalise import normalise

FIELDS = ("question", "answers", "answer")

_ENGLISH = regex.compile(r"[a-z]+(?:'[a-z]+)?")
_LESSENING = frozenset({"not", "never", "partly", "partially"})


class LlmJudge:
    """Asks `model` with `prompt`, in which `{question}`, `{answers}` (the right ones) and `{answer}` stand.

    The prompt must ask for CORRECT or INCORRECT. `least_accuracy` is the share of planted
    answers that it has to judge rightly to be trusted (see `examine`, `trusted`).
    """

    def __init__(self, model: ChatModel, prompt: str, least_accuracy: float = 0.8, max_tokens: int = 8) -> None:
        if not 0 <= least_accuracy <= 1:
            raise CtxbenchError(f"judge.least_accuracy is {least_accuracy}; give a share from 0 to 1")
        self.model = model
        self.prompt = checked_prompt("judge.prompt", prompt, FIELDS)
        self.least_accuracy = least_accuracy
        self.max_tokens = max_tokens

    def grade(self, probe: Probe, answer: str | None) -> bool | None:
        """Whether the model calls the answer right; None when it is unclear what the model says.

        No answer is wrong, without asking.

        Raises:
            ModelError: the request failed. ModelUnavailable: every request would.
        """
        if not normalise(answer or ""):
            return False
        prompt = self.prompt.format(question=probe.question, answers=_wanted(probe), answer=answer)
        reply = self.model.complete(
            [Message("user", prompt)], purpose="judge", temperature=0.0, max_tokens=self.max_tokens
        )
        return None if reply is None else verdict(reply.text or "")


def _wanted(probe: Probe) -> str:
    """The right answers as the prompt shows them; UNKNOWN where there is none."""
    groups = [" or ".join(f'"{alias}"' for alias in aliases) for aliases in [probe.answers, *probe.also] if aliases]
    return "; and also ".join(groups) or f'"{UNKNOWN}" (the conversation does not say)'


def verdict(text: str) -> bool | None:
    """What a judge says: CORRECT or INCORRECT, in any case and sentence; None for neither or both."""
    words = _ENGLISH.findall(normalise(text))
    said = set()
    for index, word in enumerate(words):
        if word in ("correct", "incorrect"):
            before = words[max(0, index - 2) : index]
            lessened = any(one in _LESSENING or one.endswith("n't") for one in before)
            said.add(word == "correct" and not lessened)
    return said.pop() if len(said) == 1 else None


class Planted(msgspec.Struct, frozen=True):
    """An answer of which it is known whether it is right."""

    language: str
    probe: Probe
    answer: str
    right: bool


def planted(conversations: Iterable[Conversation], per_language: int, seed: int) -> list[Planted]:
    """A right and a wrong answer to each of `per_language` probes of every language.

    Fewer where a language has fewer probes to which both exist; `absent` ones have none.
    The same seed and conversations give the same answers.
    """
    languages: dict[str, list[tuple[Conversation, Probe]]] = {}
    for conversation in conversations:
        usable = [(conversation, probe) for probe in conversation.probes if _is_usable(conversation, probe)]
        languages.setdefault(conversation.language, []).extend(usable)
    chosen: list[Planted] = []
    for language, usable in sorted(languages.items()):
        rng = random.Random(f"{language}-{seed}")  # noqa: S311 - repeatable, not secret
        for conversation, probe in rng.sample(usable, min(per_language, len(usable))):
            chosen.append(Planted(language, probe, _one_each(probe, rng), right=True))
            chosen.append(Planted(language, probe, rng.choice(_wrong_answers(conversation, probe)), right=False))
    return chosen


def _is_usable(conversation: Conversation, probe: Probe) -> bool:
    # An alias without a letter or digit is never found, not even in itself.
    sound = all(found([alias], normalise(alias)) for aliases in [probe.answers, *probe.also] for alias in aliases)
    return bool(probe.answers) and all(probe.also) and sound and bool(_wrong_answers(conversation, probe))


def _one_each(probe: Probe, rng: random.Random) -> str:
    return "; ".join(rng.choice(aliases) for aliases in [probe.answers, *probe.also])


def _wrong_answers(conversation: Conversation, probe: Probe) -> list[str]:
    """Outdated values; else answers of other probes, of the same category where there are any."""
    stale = [value for value in probe.stale if value.strip() and not score_answer(probe, value).contains]
    if stale:
        return stale
    others = [one for one in conversation.probes if one.id != probe.id]
    alike = [one for one in others if one.category == probe.category]
    return list(_apart(probe, alike)) or list(_apart(probe, others))


def _apart(probe: Probe, others: Sequence[Probe]) -> Iterator[str]:
    """First answers of other probes that neither hold nor are part of an alias: half right is not wrong."""
    golds = [alias for aliases in [probe.answers, *probe.also] for alias in aliases]
    for other in others:
        for alias in other.answers[:1]:
            part = any(found([alias], normalise(gold)) for gold in golds)
            if alias.strip() and not part and not found(golds, normalise(alias)):
                yield alias


class Counts(msgspec.Struct, frozen=True):
    """Planted answers by what they are, and by what the judge said of them."""

    right: int
    wrong: int
    agreed: int
    false_accepts: int
    false_rejects: int
    unclear: int


class JudgeReport(msgspec.Struct, frozen=True):
    """How a judge did on `n` planted answers.

    `accuracy` and `unclear` are shares of all (an unclear verdict agrees with nothing),
    `false_accepts` of the wrong answers, `false_rejects` of the right ones. `by_language`
    holds the same for each language.
    """

    n: int
    accuracy: float
    false_accepts: float
    false_rejects: float
    unclear: float
    counts: Counts
    by_language: dict[str, "JudgeReport"] = msgspec.field(default_factory=dict)


def examine(judge: LlmJudge, planted: Sequence[Planted]) -> JudgeReport:
    """Let the judge grade what was planted, one request each.

    Raises:
        ModelError: a request failed. ModelUnavailable: every request would.
    """
    if not planted:
        raise CtxbenchError("judge: no probe has both a right and a wrong answer to examine it with")
    languages: dict[str, list[tuple[bool, bool | None]]] = {}
    for one in planted:
        languages.setdefault(one.language, []).append((one.right, judge.grade(one.probe, one.answer)))
    whole = _report([graded for grades in languages.values() for graded in grades])
    by_language = {language: _report(grades) for language, grades in sorted(languages.items())}
    return msgspec.structs.replace(whole, by_language=by_language)


def trusted(report: JudgeReport, least_accuracy: float) -> bool:
    """Whether a judge is accurate enough; to be asked of a report's languages as well."""
    return report.accuracy >= least_accuracy


def _report(grades: Sequence[tuple[bool, bool | None]]) -> JudgeReport:
    right = sum(known for known, _ in grades)
    counts = Counts(
        right=right,
        wrong=len(grades) - right,
        agreed=sum(said is known for known, said in grades),
        false_accepts=grades.count((False, True)),
        false_rejects=grades.count((True, False)),
        unclear=sum(said is None for _, said in grades),
    )
    return JudgeReport(
        n=len(grades),
        accuracy=counts.agreed / len(grades),
        false_accepts=counts.false_accepts / max(1, counts.wrong),
        false_rejects=counts.false_rejects / max(1, counts.right),
        unclear=counts.unclear / len(grades),
        counts=counts,
    )
