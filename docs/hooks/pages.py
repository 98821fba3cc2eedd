"""What the site makes itself when it is built: outputs of examples, references, llms.txt."""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from executed import with_outputs
from reference import api_page, commands_page

#: pages that show what their examples give
EXECUTED = ("start/", "gallery.md", "notebook.md")
#: a line of a page -> what stands there in the site
MADE = {"<!-- commands -->": commands_page, "<!-- api -->": api_page}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Fill in what is made."""
    path = page.file.src_uri
    for mark, make in MADE.items():
        if mark in markdown:
            markdown = markdown.replace(mark, make())
    if path.startswith(EXECUTED):
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)  # examples write files
            try:
                markdown = with_outputs(markdown, path)
            finally:
                os.chdir(here)
    return markdown


def on_post_build(config: Any, **_: Any) -> None:
    """Write llms.txt: what there is to read, for readers that are programs."""
    docs, site = Path(config["docs_dir"]), Path(config["site_dir"])
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}", ""]
    lines += _listed(config["nav"], docs)
    (site / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _listed(nav: list[Any], docs: Path) -> list[str]:
    lines: list[str] = []
    for entry in nav:
        (title, target), *_ = entry.items() if isinstance(entry, dict) else [(entry, entry)]
        if isinstance(target, list):
            lines += ["", f"## {title}", "", *_listed(target, docs)]
        else:
            about = first_sentence((docs / target).read_text(encoding="utf-8"))
            lines.append(f"- [{title}]({target.removesuffix('.md')}.html): {about}")
    return lines


def first_sentence(markdown: str) -> str:
    """What a page begins with, as plain text: no headings, code, tables and pictures."""
    prose = re.sub(r"```.*?```|^(    |#|<|\||!|:::).*?$", "", markdown, flags=re.DOTALL | re.M)
    text = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", prose).split())
    return re.split(r"(?<=[.?])[\s*\"]", re.sub(r"[*`]", "", text))[0]
