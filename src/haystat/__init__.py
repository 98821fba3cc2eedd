"""haystat: how good is a classifier when positives are needles in a haystack?"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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

#: public name -> module; importing them all takes a second, so each waits until it is used
_MODULE_OF = {
    "Alarm": "decisions.alarm",
    "Change": "comparison.change",
    "Comparison": "comparison.compare",
    "CurveDisplay": "display.curves",
    "Decided": "comparison.duels",
    "Estimate": "inference.estimate",
    "Evaluation": "loop.evaluation",
    "HaystatError": "errors",
    "Known": "pool.known",
    "Plan": "planning.plan",
    "Pool": "pool.memory",
    "Query": "loop.questions",
    "Study": "study.study",
    "ThresholdChoice": "decisions.threshold",
    "Verdict": "decisions.gate",
    "Width": "decisions.stopping",
    "change": "comparison.change",
    "compare": "comparison.compare",
    "cross_pool": "engines.open",
    "from_estimator": "pool.from_estimator",
    "gate": "decisions.gate",
    "open_pool": "engines.open",
    "plan": "planning.plan",
    "signal_from_features": "pool.fitted_signals",
    "signal_from_text": "pool.text_signals",
    "simulate": "experiments.simulate",
    "strata_from_features": "pool.features",
}


def __getattr__(name: str) -> Any:
    """A public name on first use."""
    if name in _MODULE_OF:
        value = getattr(import_module(f"haystat.{_MODULE_OF[name]}"), name)
    elif name in __all__:
        value = import_module(f"haystat.{name}")
    else:
        raise AttributeError(f"module 'haystat' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
