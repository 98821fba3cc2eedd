"""Generated conversations of a shop's assistant, with two judges that err in their own ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from haystat.core.disk import write_whole

TOPICS = ("delivery", "refunds", "privacy", "warranty")
ASKED = {
    "delivery": "When will order {order} arrive?",
    "refunds": "I sent order {order} back. Where is my money?",
    "privacy": "Please delete what you know about me. My order was {order}.",
    "warranty": "The kettle of order {order} stopped working after {months} months.",
}
GOOD = "I have looked at order **{order}**: it is on its way, and you will hear from us by mail."
#: what makes an answer a failure, by topic
BAD = {
    "delivery": "It arrives tomorrow, guaranteed.",  # nobody can promise that
    "refunds": "Refunds are not possible.",  # the policy says 30 days
    "privacy": "We keep your data for ever; there is nothing I can do.",
    "warranty": "There is no warranty on kettles.",  # there are two years
}
FILLER = "As always, our team is happy to help you with anything else about your order. "


def write_traces(path: str | Path, n: int = 4000, seed: int = 0) -> dict[str, int]:
    """Write n judged conversations as JSON lines of the OpenAI Evals API; the truth, by item.

    About 3 in 100 are failures. The judge `policy` overlooks failures in long answers and accuses
    answers about privacy; the judge `strict` sees more and accuses more.

    >>> import tempfile
    >>> truth = write_traces(tempfile.mkdtemp() + "/traces.jsonl", n=100, seed=1)
    >>> len(truth), set(truth.values())
    (100, {0, 1})
    """
    rng = np.random.default_rng(seed)
    topic = rng.choice(len(TOPICS), n, p=[0.5, 0.25, 0.15, 0.1])
    length = np.floor(rng.exponential(3.0, n)).astype(int)
    failure = (rng.random(n) < np.array([0.02, 0.04, 0.05, 0.03])[topic]).astype(int)
    seen = failure * np.where(length > 5, 0.6, 3.4) + 0.9 * (topic == 2)
    policy = _share(seen + rng.normal(0, 0.55, n) - 1.9)
    strict = _share(2.6 * failure + 0.1 * length + rng.normal(0, 0.8, n) - 1.6)
    lines = [
        _line(k, TOPICS[topic[k]], int(length[k]), bool(failure[k]), policy[k], strict[k])
        for k in range(n)
    ]
    write_whole(path, "".join(json.dumps(line) + "\n" for line in lines))
    return {line["id"]: int(one) for line, one in zip(lines, failure, strict=True)}


def _share(x: Any) -> Any:
    return 1 / (1 + np.exp(-2 * x))


def _line(k: int, topic: str, length: int, failed: bool, policy: float, strict: float) -> Any:
    order, months = f"A-{10_000 + k}", 3 + k % 20
    reply = BAD[topic] if failed else GOOD.format(order=order)
    results = [
        {
            "name": name,
            "score": round(1 - float(bad), 4),
            "passed": bool(bad < 0.5),
            "sample": {"output": [{"role": "assistant", "content": _reason(name, bad)}]},
        }
        for name, bad in (("policy", policy), ("strict", strict))
    ]
    asked = ASKED[topic].format(order=order, months=months)
    return {
        "object": "eval.run.output_item",
        "id": f"trace-{k:05}",
        "datasource_item": {"topic": topic},
        "results": results,
        "sample": {
            "input": [
                {"role": "system", "content": "You are the assistant of a shop."},
                {"role": "user", "content": asked},
            ],
            "output": [{"role": "assistant", "content": f"{reply}\n\n{FILLER * length}".strip()}],
        },
    }


def _reason(name: str, bad: float) -> str:
    found = "breaks a rule" if bad >= 0.5 else "keeps to the rules"
    return f"The {name} check finds that the answer {found}."
