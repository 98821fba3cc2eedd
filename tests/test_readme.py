"""The README's example runs as printed."""

import re
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def test_the_example_runs_and_prints_an_estimate(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    first, second = capsys.readouterr().out.splitlines()
    assert 0 < float(first.split()[0]) < 1
    assert second.startswith("precision = ")


def test_the_pictures_and_pages_it_names_exist():
    targets = re.findall(r"\]\((?!http)([^)#]+)", README.read_text(encoding="utf-8"))
    assert targets
    assert [name for name in targets if not (README.parent / name).exists()] == []
