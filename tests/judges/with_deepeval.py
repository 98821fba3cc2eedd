"""Run by a Python with DeepEval: three test cases and a metric of our own, which needs no model."""

import os

os.environ["DEEPEVAL_RESULTS_FOLDER"] = "results"

from deepeval import evaluate
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase, ToolCall


class Tone(BaseMetric):
    def __init__(self):
        self.threshold, self.async_mode, self.strict_mode = 0.5, False, False
        self.include_reason, self.verbose_mode, self.error = True, False, None
        self.evaluation_model, self.evaluation_cost = "none", 0

    def measure(self, case, *_, **__):
        self.score = 0.2 if "bad" in case.actual_output else 0.9
        self.success, self.reason = self.score >= 0.5, "by rule"
        return self.score

    async def a_measure(self, case, *_, **__):
        return self.measure(case)

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Tone"


cases = [
    LLMTestCase(
        input=f"Question {k}?",
        actual_output="bad" if k == 1 else "good",
        tools_called=[ToolCall(name="add", input_parameters={"x": 1})],
    )
    for k in range(3)
]
evaluate(cases, metrics=[Tone()])
