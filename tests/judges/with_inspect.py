"""Run by a Python with inspect_ai: an evaluation with its mock model, two scorers and a tool."""

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Target, accuracy, model_graded_qa, scorer
from inspect_ai.solver import TaskState, generate, system_message, use_tools
from inspect_ai.tool import tool

MOCK = "mockllm/model"


@tool
def add():
    async def execute(x: int, y: int):
        """Add two numbers.

        Args:
            x: the first
            y: the second
        """
        return x + y

    return execute


@scorer(metrics=[accuracy()])
def guard():
    async def score(state: TaskState, target: Target):
        return Score(value=0.25 if "bad" in state.output.completion else 0.75, explanation="guard")

    return score


def used(output):
    """Without usage the mock model counts tokens, for which it fetches a file."""
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def said(text):
    return used(ModelOutput.from_content(MOCK, text))


answers = []
for k in range(4):
    answers.append(used(ModelOutput.for_tool_call(MOCK, "add", {"x": k, "y": 1})))
    answers.append(said(f"{'bad' if k == 3 else 'good'} " + "long " * 400))
grades = [said(f"Because. GRADE: {'I' if k == 0 else 'C'}") for k in range(4)]
task = Task(
    dataset=[
        Sample(input=f"Question {k}?", target="good", id=f"s{k}", metadata={"topic": "sums"})
        for k in range(4)
    ],
    solver=[system_message("Be kind."), use_tools(add()), generate()],
    scorer=[guard(), model_graded_qa(model=get_model(MOCK, custom_outputs=grades))],
)
model = get_model(MOCK, custom_outputs=answers)
log = eval(task, model=model, log_dir="eval", display="none", max_samples=1)[0]
assert log.status == "success", log.error
