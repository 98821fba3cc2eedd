"""Whether an installed haystat works, outside the checkout, with the extras that are there.

python bench/try_install.py [docs/start/*.md]    the examples of these pages are run as written
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import haystat as hs

SCRIPT = Path(sys.executable).parent / "haystat"
BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
SCORES = np.random.default_rng(0).normal(-2, 1.5, 5000)


def run(*words: object) -> str:
    """What a command prints; an error ends everything."""
    done = subprocess.run([SCRIPT, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


def oracle(items: list[int]) -> list[int]:
    """The answers."""
    return [int(SCORES[item] > 0.2) for item in items]


def try_library() -> hs.Evaluation:
    """An evaluation, a study and the commands that need no extra."""
    assert "site-packages" in Path(hs.__file__).parts, f"{hs.__file__} is not installed"
    evaluation = hs.Evaluation(hs.Pool(SCORES), "f1", random_state=0)
    assert 0 < evaluation.run(oracle, budget=100).value <= 1
    with hs.Study.create("s.haystat", hs.Pool(SCORES), random_state=0) as study:
        study.tell({q.item: oracle([q.item])[0] for q in study.ask(50)})
    for command in ("status", "estimate", "verify", "report"):
        assert run(command, "s.haystat")
    evaluation.report("r.html")
    assert "haystat" in run("--version")
    return evaluation


def try_demo() -> None:
    """The demo, with its picture where matplotlib is there."""
    said = run("demo", "--labels", 200)
    assert "truth" in said, said
    if find_spec("matplotlib"):
        assert Path("haystat-demo.png").stat().st_size > 10_000
    else:
        assert "haystat[plots]" in said, said


def try_page() -> None:
    """The page with generated records answers; without its extra the command names it."""
    command = [SCRIPT, "serve", "--demo", "--port", "8329"]
    if not find_spec("starlette"):
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 2, done
        assert "haystat[web]" in done.stderr, done.stderr
        return
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        link = re.search(r"http://\S+", server.stdout.readline() + server.stdout.readline())
        assert link, "no link was printed"
        assert b"<html" in urllib.request.urlopen(link[0], timeout=60).read()
    finally:
        server.terminate()
        server.wait(30)


def try_extras(evaluation: hs.Evaluation) -> None:
    """What needs a package that is missing names the extra that brings it."""
    needs: dict[str, tuple[str, Callable[[], object]]] = {
        "matplotlib": ("plots", evaluation.plot),
        "pandas": ("frames", evaluation.estimate().to_frame),
        "anywidget": ("notebook", evaluation.label),
        "ibis": ("engines", lambda: hs.open_pool("p.csv", id="id", score="score")),
        "sklearn": ("features", lambda: hs.strata_from_features(SCORES[:, None], "hierarchical")),
    }
    Path("p.csv").write_text("id,score\n1,0.5\n2,0.1\n")
    for package, (extra, call) in needs.items():
        if find_spec(package) is None:
            said = ""
            try:
                call()
            except hs.HaystatError as error:
                said = str(error)
            assert f"haystat[{extra}]" in said, (package, said)


def try_hour(page: Path) -> float:
    """The examples of a page, one after the other; how many seconds they take."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    started = time.perf_counter()
    names: dict[str, object] = {"__name__": "__main__"}
    for code in BLOCK.findall(page.read_text(encoding="utf-8")):
        exec(compile(code, str(page), "exec"), names)
    assert plt.get_fignums(), f"{page} ends without a picture"
    plt.close("all")
    return time.perf_counter() - started


def main() -> None:
    """Everything, in a folder of its own."""
    pages = [Path(name).absolute() for name in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        evaluation = try_library()
        try_extras(evaluation)
        try_demo()
        try_page()
        for page in pages:
            print(f"{page.name} runs as written, {try_hour(page):.0f} s")
        os.chdir("/")
    print(f"haystat {hs.__version__} works on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
