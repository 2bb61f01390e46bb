"""Asks models about probes: a reader answers from the context, a judge may grade the answer.

A judge first grades planted right and wrong answers in the run's languages. Its error
rates are printed and kept; below its set accuracy its grades are not reported.
"""

import sys
from collections.abc import Sequence

from omegaconf import DictConfig

from ctxbench.conversation.dataset import Dataset
from ctxbench.conversation.model import Message, Probe
from ctxbench.errors import CtxbenchError
from ctxbench.experiments.retention import Answer
from ctxbench.models.base import ModelError
from ctxbench.parts import build
from ctxbench.runs.folder import RunFolder
from ctxbench.scoring.answered import score_answer
from ctxbench.scoring.judges import LlmJudge, examine, planted, trusted

PLANTED_A_LANGUAGE = 6


def answer_function(config: DictConfig, dataset: Dataset, folder: RunFolder) -> Answer | None:
    """What fills the answer fields of a row; None when no reader is chosen."""
    if config.reader.get("_target_") is None:
        if config.judge.get("_target_") is not None:
            raise CtxbenchError("judge=llm grades a reader's answers: choose one with reader=llm")
        return None
    reader = build(config.reader)
    judge = _examined_judge(config, dataset, folder)

    def answer(probe: Probe, messages: Sequence[Message]) -> dict[str, object]:
        try:
            text = reader.answer(messages, probe.question)
        except ModelError as error:
            print(f"reader: {error}; the answer to {probe.id} counts as none", file=sys.stderr)
            text = None
        score = score_answer(probe, text)
        judged = judge.grade(probe, text) if judge is not None else None
        return {
            "answer": text or "",
            "answered": score.right,
            "exact": score.exact if probe.answers else None,
            "f1": score.f1 if probe.answers else None,
            "judged": judged,
        }

    return answer


def _examined_judge(config: DictConfig, dataset: Dataset, folder: RunFolder) -> LlmJudge | None:
    """The judge, once it has shown that it tells right from wrong; None without one or when it cannot."""
    if config.judge.get("_target_") is None:
        return None
    judge: LlmJudge = build(config.judge)
    report = examine(judge, planted(dataset.conversations, PLANTED_A_LANGUAGE, config.seed))
    folder.write_json("judge.json", report)
    print(
        f"judge: {report.accuracy:.0%} of {report.n} planted answers graded rightly "
        f"(wrong ones accepted {report.false_accepts:.0%}, right ones rejected {report.false_rejects:.0%})"
    )
    if trusted(report, judge.least_accuracy):
        return judge
    print(f"judge: below {judge.least_accuracy:.0%}: its grades are not reported", file=sys.stderr)
    return None
