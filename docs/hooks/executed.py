"""Run the Python of a page as a notebook would: block by block, with what each one shows."""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import re
import warnings
from typing import Any

BLOCK = re.compile(r"```python\n(.*?)```", flags=re.DOTALL)
#: a block that a page shows and nobody runs says so in its first line
NOT_RUN = "# not run"


def blocks(markdown: str) -> list[str]:
    """The Python of a page, block by block, without what is only shown."""
    return [code for code in BLOCK.findall(markdown) if not code.startswith(NOT_RUN)]


def with_outputs(markdown: str, page: str) -> str:
    """The page with what each block prints, shows and draws below it."""
    names: dict[str, Any] = {"__name__": "docs"}

    def replaced(match: re.Match[str]) -> str:
        code = match[1]
        if code.startswith(NOT_RUN):
            return match[0]
        return match[0] + "\n\n" + _output(*run(code, names, page))

    return BLOCK.sub(replaced, markdown)


def run(code: str, names: dict[str, Any], page: str) -> tuple[str, Any, list[str]]:
    """Run a block: what it prints, the value of its last line, and its figures as PNG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    plt.close("all")
    tree = ast.parse(code, page)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(tree, page, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), page, "eval"), names)
    figures = []
    for number in plt.get_fignums():
        file = io.BytesIO()
        plt.figure(number).savefig(file, dpi=110, bbox_inches="tight")
        figures.append(base64.b64encode(file.getvalue()).decode())
    plt.close("all")
    return printed.getvalue(), value, figures


def _output(printed: str, value: Any, figures: list[str]) -> str:
    parts = []
    if printed.strip():
        parts.append(f"```text\n{printed.rstrip()}\n```")
    if figures:
        parts += [
            f'<img class="output" alt="The picture that this code draws" '
            f'src="data:image/png;base64,{figure}">'
            for figure in figures
        ]
    elif hasattr(value, "_repr_html_"):
        html = re.sub(r"\n\s*", " ", value._repr_html_())
        parts.append(f'<div class="output">{html}</div>')
    elif value is not None:
        parts.append(f"```text\n{value!r}\n```")
    return "\n\n".join(parts)
