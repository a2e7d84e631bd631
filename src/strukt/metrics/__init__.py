"""Evaluation metrics as counters: accuracy, spans, trees, ranks; they do not import PyTorch."""

from strukt.metrics.accuracy import Accuracy
from strukt.metrics.attachment_scores import AttachmentScore
from strukt.metrics.bootstrap import intervals
from strukt.metrics.classes import ClassAccuracy, MacroF1
from strukt.metrics.entities import EntityF1
from strukt.metrics.logical_forms import LogicalForms
from strukt.metrics.parseval import Parseval
from strukt.metrics.ranks import Ranks
from strukt.metrics.span_f1 import SpanF1
from strukt.metrics.span_report import report
from strukt.metrics.unlabelled_f1 import UnlabelledF1

__all__ = [
    "Accuracy",
    "AttachmentScore",
    "ClassAccuracy",
    "EntityF1",
    "LogicalForms",
    "MacroF1",
    "Parseval",
    "Ranks",
    "SpanF1",
    "UnlabelledF1",
    "intervals",
    "report",
]
