"""Wrong arguments and wrong files for every command: exit 0, 1, 2 or 130, and no traceback."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import haystat as hs
from haystat import cli
from haystat.demo.traces import write_traces

EXAMPLES = int(os.environ.get("HAYSTAT_FUZZ", "4"))
PHASES = [phase for phase in Phase if EXAMPLES <= 20 or phase is not Phase.shrink]
ENDS = (0, 1, 2, 3, 130)
SIZE = 30

#: commands that work, in a folder with the files below; those that serve or take long are left out
COMMANDS = [
    "new made.haystat pool.csv --id id --score s --prediction p --show text --strata 3 --seed 1",
    "new made.haystat pool.parquet --score s --score t --measure precision,recall --candidates 9",
    "new made.haystat pool.jsonl --score s --classes 0,1 --threshold 0.5 --design adaptive",
    "new made.haystat pool.csv --id id --score s --engine duckdb --option slope=1.5",
    "new made.haystat pool.csv --id id --score s --signal t --weight w --strata 3 --after text",
    "new made.haystat pool.csv --id id --score s --known known.csv --known-as sample "
    "--inclusion 0.5",
    "new made.haystat traces.jsonl --from openai-evals --judge policy --fails no",
    "ask s.haystat -n 2 --annotator ann --lease 1h",
    "ask s.haystat --json",
    "tell s.haystat 3=1 answers.csv --annotator ann --correct",
    "tell s.haystat - --json",
    "label s.haystat --annotator ann --batch 2 --number 3",
    "status s.haystat --json",
    "estimate s.haystat --measure recall,precision --level 0.9",
    "skip s.haystat 3 --reason torn --annotator ann",
    "correct s.haystat 4=1 --reason wrong",
    "log s.haystat --last 3",
    "verify s.haystat --json",
    "merge s.haystat other.haystat --measure recall --level 0.9",
    "export s.haystat -o made.csv",
    "export s.haystat --to label-studio -n 2 -o made.json --config made.xml --names no,yes",
    "export s.haystat --to trec -o made.qrels",
    "import s.haystat answers.csv --annotator ann --correct",
    "import s.haystat answers.jsonl",
    "import s.haystat tasks.json --from label-studio --disagreement majority",
    "import s.haystat qrels --from trec",
    "pool run --from trec -o made.parquet",
    "pool pool.csv --from splink -o made.csv",
    "pool traces.jsonl --from openai-evals -o made.parquet --judge policy",
    "pool wild.json --from promptfoo -o made.csv",
    "pool wild.json --from inspect -o made.csv",
    "pool wild.json --from deepeval -o made.csv",
    "pool wild.jsonl --from mlflow -o made.csv",
    "pool wild.jsonl --from phoenix -o made.csv",
    "export s.haystat --to mlflow -o made.json",
    "sketch pool.csv -o made.sketch --id id --score s --show text --candidates 9",
    "threshold s.haystat --precision 0.9 --level 0.9",
    "threshold s.haystat --f1 best --json",
    "next s.haystat pool.csv -o made.haystat --name v2 --max-age 9d --candidates 9",
    "change s.haystat other.haystat --measure recall --level 0.9",
    "labels s.haystat -o made.csv",
    "gate s.haystat --require recall>=0.5 --level 0.9",
    "report s.haystat -o made.md --level 0.9 --examples 2",
    "compare s.haystat --systems a,b --interval fixed --level 0.9",
    "plan pool.csv --score s --width 0.5 --design passive --worlds 1 --cap 50 --interval fixed",
    "bench pool.csv --label p --score s --designs passive --budgets 5 --repeats 1 --json made.json",
]
ARGUMENTS = st.one_of(
    st.text(st.characters(exclude_characters="\0/", exclude_categories=["Cs"]), max_size=8),
    st.sampled_from(
        "-1 0 1.5 nan inf 1e9 99999999999999999999 -- --json --help = =1 3= a=b , ,, * ? s.haystat "
        "pool.csv pool.sketch wild.csv wild.jsonl wild.json wild.parquet wild.haystat . made "
        "f1 assisted \udce9 caf\udce9.csv é 00966 --score --id --measure --level --out".split()
    ),
    st.just("x" * 300),
)
CELLS = st.sampled_from(
    ["", "1", "1.0", "nan", "NaN", "-1", "1e400", "=1", '"', "'", "é", "a b", "3", "null", "true"]
)
FRAGMENTS = st.sampled_from(
    ['{"item": 3, "label": 1}', '{"item": NaN}', "[" * 5000, "{" * 5000, "[]", "{}", "null", "[1]",
     "item,label", "id,s,p", "id,id,s", "301 Q0 FT1 1 0.5 t", "301 0 FT1 1", '{"s": [[1]]}', "\0"]
)  # fmt: skip
LINES = st.one_of(FRAGMENTS, st.lists(CELLS, max_size=4).map(",".join))
CONTENTS = st.one_of(
    st.binary(max_size=40),
    st.lists(LINES, max_size=4).map(lambda lines: "\n".join(lines).encode()),
    st.sampled_from(["latin-1", "utf-16"]).map("id,s,text\n1,0.5,é\n".encode),
)


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """A folder with the files that the commands name."""
    folder = tmp_path_factory.mktemp("commands")
    scores = np.linspace(0.05, 0.95, SIZE)
    frame = pd.DataFrame({"id": range(SIZE), "s": scores, "t": scores[::-1], "text": "é"})
    frame["w"] = np.arange(SIZE) + 1
    frame["p"] = (scores > 0.5).astype(int)
    frame.to_csv(folder / "pool.csv", index=False)
    frame.to_parquet(folder / "pool.parquet")
    frame.to_json(folder / "pool.jsonl", orient="records", lines=True)
    hs.open_pool(folder / "pool.parquet", id="id", score="s").save(folder / "pool.sketch")
    pool = hs.Pool({"a": scores, "b": scores[::-1]}, strata=3)
    for name, seed in {"s.haystat": 0, "other.haystat": 1}.items():
        with hs.Study.create(folder / name, pool, random_state=seed) as study:
            study.tell({question.item: int(question.item > 20) for question in study.ask(8)})
            study.ask(6, "ann")
            items = [question.item for question in study.pending]
    rows = [{"item": item, "label": 1} for item in items[:2]]
    pd.DataFrame(rows).to_csv(folder / "answers.csv", index=False)
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pd.DataFrame({"item": items[:2], "label": [1, 0]}).to_csv(folder / "known.csv", index=False)
    write_traces(folder / "traces.jsonl", n=20, seed=1)
    (folder / "tasks.json").write_text("[]")
    (folder / "run").write_text("301 Q0 FT1 1 0.5 t\n301 Q0 FT2 2 0.4 t\n")
    (folder / "qrels").write_text("301 0 FT1 1\n")
    return folder


@pytest.fixture
def place(shelf, tmp_path, monkeypatch):
    """A copy of the folder to work in."""
    monkeypatch.chdir(tmp_path)

    def fresh():
        for file in tmp_path.iterdir():
            shutil.rmtree(file) if file.is_dir() else file.unlink()
        shutil.copytree(shelf, tmp_path, dirs_exist_ok=True)
        return tmp_path

    return fresh


def run(arguments, stdin=""):
    """The exit code, and what was printed; an error that nobody caught is raised."""
    out, error = io.StringIO(), io.StringIO()
    before = sys.argv, sys.stdin
    sys.argv, sys.stdin = ["haystat", *arguments], io.StringIO(stdin)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
            cli.main()
        code = 0
    except SystemExit as end:
        code = end.code or 0
    finally:
        sys.argv, sys.stdin = before
    return code, out.getvalue() + error.getvalue()


@pytest.mark.parametrize("command", COMMANDS)
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    phases=PHASES,
    derandomize=EXAMPLES <= 20,  # the suite runs the same examples each time
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
@given(data=st.data())
def test_a_command_ends_with_a_code_that_means_something(place, command, data):
    folder = place()
    name = data.draw(st.sampled_from(["wild.csv", "wild.jsonl", "wild.json", "wild.haystat"]))
    content = data.draw(CONTENTS, label="content")
    (folder / name).write_bytes(content)
    arguments = command.split()
    for _ in range(data.draw(st.integers(0, 3))):
        position = data.draw(st.integers(1, len(arguments)))
        new = data.draw(st.lists(ARGUMENTS, max_size=2))
        arguments[position : position + data.draw(st.integers(0, 1))] = new
    if data.draw(st.booleans()):
        files = [i for i, text in enumerate(arguments) if i and (folder / text[:99]).is_file()]
        if files:
            target = folder / arguments[data.draw(st.sampled_from(files))]
            target.write_bytes(content)
    stdin = data.draw(st.lists(LINES, max_size=3).map("\n".join), label="stdin")
    code, said = run(arguments, stdin)
    assert code in ENDS
    assert "Traceback" not in said
    assert code == 0 or said.strip() or "verify" in arguments
    assert not list(folder.glob("**/*.part"))


@pytest.mark.parametrize("command", COMMANDS)
def test_the_commands_that_are_varied_are_known(place, command):
    place()
    code, said = run(command.split())
    assert code in (0, 2, 3)
    assert "No such" not in said
