"""Whether an installed haystat works, without extras and outside the checkout.

python bench/try_install.py
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import haystat as hs

SCRIPT = Path(sys.executable).parent / "haystat"


def run(*words: object) -> str:
    """What a command prints; an error ends everything."""
    done = subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def main() -> None:
    """An evaluation, a study and the commands that need no extra."""
    checkout = Path(__file__).parents[1]
    assert checkout not in Path(hs.__file__).parents, f"{hs.__file__} is the checkout"
    scores = np.random.default_rng(0).normal(-2, 1.5, 5000)
    evaluation = hs.Evaluation(hs.Pool(scores), "f1", random_state=0)
    estimate = evaluation.run(lambda items: [int(scores[i] > 0.2) for i in items], budget=100)
    assert 0 < estimate.value <= 1
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "s.haystat"
        with hs.Study.create(path, hs.Pool(scores), random_state=0) as study:
            study.tell({q.item: int(scores[q.item] > 0.2) for q in study.ask(50)})
        for command in ("status", "estimate", "verify", "report"):
            assert run(command, path)
        evaluation.report(Path(folder) / "r.html")
    assert "haystat" in run("--version")
    for command in ("demo", "serve", "new"):
        assert run(command, "--help")
    print(f"haystat {hs.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
