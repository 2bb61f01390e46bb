"""ctxbench: measures what context compression keeps, costs and loses.

The parts that an application can use by itself are exported here; the harness is run
as `python -m ctxbench`.
"""

from ctxbench.context.draft import Draft
from ctxbench.context.failures import CompressionFailed
from ctxbench.context.manager import Context, ContextManager
from ctxbench.context.storage.memory import MemoryStorage
from ctxbench.context.storage.sqlite import SqliteStorage
from ctxbench.context.strategies.base import CompressionStrategy
from ctxbench.context.strategies.budget import BudgetStrategy
from ctxbench.context.strategies.density import Density
from ctxbench.context.strategies.exact_check import ExactCheck
from ctxbench.context.strategies.none import NoCompression
from ctxbench.context.strategies.sliding import SlidingWindow
from ctxbench.context.strategies.smart import SmartSummary
from ctxbench.context.strategies.token_window import TokenWindow
from ctxbench.context.summarizers.base import Summarizer
from ctxbench.context.summarizers.by_kind import SummarizerByKind
from ctxbench.context.summarizers.cached import CachedSummarizer
from ctxbench.context.summarizers.extractive import ExtractiveSummarizer
from ctxbench.context.summarizers.limited import LimitedSummarizer
from ctxbench.conversation.model import Conversation, Message, Probe, ToolCall
from ctxbench.errors import CtxbenchError
from ctxbench.tokens.estimators.base import AdditiveEstimator, Estimator
from ctxbench.tokens.estimators.chars4 import Chars4

__all__ = [
    "AdditiveEstimator",
    "BudgetStrategy",
    "CachedSummarizer",
    "Chars4",
    "CompressionFailed",
    "CompressionStrategy",
    "Context",
    "ContextManager",
    "Conversation",
    "CtxbenchError",
    "Density",
    "Draft",
    "Estimator",
    "ExactCheck",
    "ExtractiveSummarizer",
    "LimitedSummarizer",
    "MemoryStorage",
    "Message",
    "NoCompression",
    "Probe",
    "SlidingWindow",
    "SmartSummary",
    "SqliteStorage",
    "Summarizer",
    "SummarizerByKind",
    "TokenWindow",
    "ToolCall",
]
