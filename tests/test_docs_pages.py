"""The pages: every example runs, every command is understood, the reference is complete."""

from __future__ import annotations

import inspect
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

import matplotlib as mpl
import pytest
import typer

import haystat
from haystat.cli import app
from haystat.cli.commands import COMMANDS

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS / "hooks"))

from executed import blocks, run  # noqa: E402
from reference import api_page, commands_page, public_names  # noqa: E402

#: pages whose examples another test runs, since they need more than Python
ELSEWHERE = {
    "bridges.md": "formats/test_bridges_page.py",
    "judges.md": "judges/test_judges_page.py",
    "measures.md": "measures/test_measure_docs.py",
    "scale.md": "engines/test_scale_page.py",
    "studies.md": "study/test_studies_page.py",
}
PAGES = sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))
EXAMPLES = [p for p in PAGES if p not in ELSEWHERE and blocks((DOCS / p).read_text("utf-8"))]


@pytest.mark.parametrize("page", EXAMPLES)
def test_examples_of_a_page_run_one_after_the_other(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if page.startswith("start/linkage"):
        pytest.importorskip("splink")
    names: dict[str, object] = {"__name__": "docs"}
    shown = [run(code, names, page) for code in blocks((DOCS / page).read_text("utf-8"))]
    if page.startswith("start/"):
        assert any(figures for _, _, figures in shown), "a first hour ends in a picture"
    mpl.pyplot.close("all")


def test_pages_without_examples_here_have_a_test_of_their_own():
    for page, test in ELSEWHERE.items():
        assert page.removesuffix(".md") in (Path(__file__).parent / test).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES)
def test_every_page_is_in_the_navigation_and_has_its_figures(page):
    assert f": {page}\n" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    assert "BENCH_" not in (DOCS / page).read_text(encoding="utf-8")


def commands_of(page):
    """Command lines that a page shows, without pipes, remarks and what is left open."""
    text = (DOCS / page).read_text("utf-8").replace("\\\n", " ")
    fenced = "\n".join(re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL))
    lines = re.findall(r"^    (haystat [a-z].*)$", text, flags=re.MULTILINE)
    lines += re.findall(r"^(haystat [a-z].*)$", fenced, flags=re.MULTILINE)
    lines += re.findall(r"`(haystat [^`]*)`", text)
    for line in lines:
        words = shlex.split(re.split(r" [|>#&]|;", line)[0], comments=True)
        yield [word.strip("[],") for word in words[1:] if "…" not in word and word not in "[]"]


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_a_page_is_one_that_the_program_understands(page):
    group = typer.main.get_command(app)
    for words in commands_of(page):
        if not words or words[0] not in COMMANDS:
            assert not words or words[0].startswith("-"), f"{page}: haystat {' '.join(words)}"
            continue
        known = {o for p in group.get_command(None, words[0]).params for o in p.opts}
        known |= {o for p in group.get_command(None, words[0]).params for o in p.secondary_opts}
        used = {word.split("=")[0] for word in words[1:] if re.match(r"--?[a-z]", word)}
        assert used <= known | {"--help"}, f"{page}: haystat {' '.join(words)}"


def test_every_public_name_is_in_the_reference():
    page = api_page()
    for name in haystat.__all__:
        value = getattr(haystat, name)
        if inspect.ismodule(value):
            assert f"## haystat.{name}\n" in page
        else:
            assert f"### haystat.{name}\n" in page
            assert inspect.getdoc(value)
    for name in import_module("haystat.designs").__all__:
        assert f"### haystat.designs.{name}\n" in page or name == "DESIGNS"
    for target in public_names().values():
        module, _, name = target.rpartition(".")
        assert getattr(import_module(module), name) is not None


def test_every_command_and_every_option_is_in_the_reference():
    page = commands_page()
    for name, place in COMMANDS.items():
        module, function = place.split(":")
        section = page.split(f"## haystat {name}\n")[1].split("\n## haystat ")[0]
        given = inspect.signature(getattr(import_module(f"haystat.cli.{module}"), function))
        rows = [line for line in section.splitlines() if line.startswith("| `")]
        assert len(rows) == len(given.parameters), name


def test_every_test_that_shows_a_promise_exists():
    text = (DOCS / "promises.md").read_text(encoding="utf-8")
    assert "promises.md" in (DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| ") and "---" not in line]
    for row in (row for row in rows if row != "| Promise | Test |"):
        named = re.findall(r"`(tests/\S+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            assert f"def {name}(" in (DOCS.parent / path).read_text(encoding="utf-8"), name
