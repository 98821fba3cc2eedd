"""haystat: how good is a classifier when positives are needles in a haystack?"""

from typing import TYPE_CHECKING

from haystat.core.lazy import lazy_names

__version__ = "0.2.0"

if TYPE_CHECKING:
    from haystat import designs, errors, measures
    from haystat.comparison.change import Change, change
    from haystat.comparison.compare import Comparison, compare
    from haystat.comparison.duels import Decided
    from haystat.decisions.alarm import Alarm
    from haystat.decisions.gate import Verdict, gate
    from haystat.decisions.stopping import Width
    from haystat.decisions.threshold import ThresholdChoice
    from haystat.display.curves import CurveDisplay
    from haystat.engines.open import cross_pool, open_pool
    from haystat.errors import HaystatError
    from haystat.experiments.simulate import simulate
    from haystat.inference.estimate import Estimate
    from haystat.loop.evaluation import Evaluation
    from haystat.loop.questions import Query
    from haystat.planning.plan import Plan, plan
    from haystat.pool.features import strata_from_features
    from haystat.pool.fitted_signals import signal_from_features
    from haystat.pool.from_estimator import from_estimator
    from haystat.pool.known import Known
    from haystat.pool.memory import Pool
    from haystat.pool.text_signals import signal_from_text
    from haystat.study.study import Study

__all__ = [
    "Alarm",
    "Change",
    "Comparison",
    "CurveDisplay",
    "Decided",
    "Estimate",
    "Evaluation",
    "HaystatError",
    "Known",
    "Plan",
    "Pool",
    "Query",
    "Study",
    "ThresholdChoice",
    "Verdict",
    "Width",
    "change",
    "compare",
    "cross_pool",
    "designs",
    "errors",
    "from_estimator",
    "gate",
    "measures",
    "open_pool",
    "plan",
    "signal_from_features",
    "signal_from_text",
    "simulate",
    "strata_from_features",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "comparison.change": "Change change",
        "comparison.compare": "Comparison compare",
        "comparison.duels": "Decided",
        "decisions.alarm": "Alarm",
        "decisions.gate": "Verdict gate",
        "decisions.stopping": "Width",
        "decisions.threshold": "ThresholdChoice",
        "display.curves": "CurveDisplay",
        "engines.open": "cross_pool open_pool",
        "errors": "HaystatError",
        "experiments.simulate": "simulate",
        "inference.estimate": "Estimate",
        "loop.evaluation": "Evaluation",
        "loop.questions": "Query",
        "planning.plan": "Plan plan",
        "pool.features": "strata_from_features",
        "pool.fitted_signals": "signal_from_features",
        "pool.from_estimator": "from_estimator",
        "pool.known": "Known",
        "pool.memory": "Pool",
        "pool.text_signals": "signal_from_text",
        "study.study": "Study",
    },
    modules="designs errors measures",
)
