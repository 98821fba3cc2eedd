"""haystat serve: the labelling page."""

from __future__ import annotations

import os
import re
import secrets
from dataclasses import dataclass
from pathlib import Path

import typer

from haystat.cli.show import busy
from haystat.errors import BadOption
from haystat.study import Study

DEMO = Path("haystat-demo")
DEMO_NAME = "people"


def serve(
    study: Path = typer.Argument(Path("."), help="A study file, or a folder of studies."),
    host: str = typer.Option("127.0.0.1", help="Address to listen at."),
    port: int | None = typer.Option(None, help="Port to listen at; by default 8321, or any."),
    token: str | None = typer.Option(
        None, envvar="HAYSTAT_TOKEN", help="Secret of managers; auto makes one for each role."
    ),
    password: bool = typer.Option(False, help="Ask for a password of managers."),
    annotator_token: str | None = typer.Option(
        None,
        envvar="HAYSTAT_ANNOTATOR_TOKEN",
        help="Secret of people who only answer questions; auto makes one.",
    ),
    annotator_password: bool = typer.Option(False, help="Ask for a password of annotators."),
    width: float = typer.Option(0.1, help="Stop when the interval is this wide."),
    upload_limit: int = typer.Option(200, help="Largest upload, in megabytes."),
    demo: bool = typer.Option(False, help="Serve a study of generated records, to try it."),
    open_browser: bool = typer.Option(False, "--open", help="Open the page in a browser."),
) -> None:
    """Answer questions in the browser, alone or in a team, and see the estimate tighten.

    The page is for this machine alone unless --host says otherwise; then it needs a token or a
    password. Managers may do everything; annotators answer questions, and see no scores, no files
    and nobody else's answers. Files outside the study's folder are out of reach. Webhooks of Label
    Studio go to /api/label-studio; it bans private addresses unless it runs with
    SSRF_PROTECTION_ENABLED=false, and haystat import --url … --watch needs no webhook.

    Example: haystat serve cats.haystat --host 0.0.0.0 --token auto
    """
    try:
        from haystat.web.server import listen, serve, study_and_folder
        from haystat.web.settings import MEGABYTE, Settings, checked_secrets, is_loopback
    except ImportError as error:
        raise BadOption(f"serve needs {error.name}: pip install 'haystat[web]'") from None
    manager = _secret("", token, password)
    wish = "auto" if token == "auto" and not annotator_password else None
    annotator = _secret("annotator-", annotator_token or wish, annotator_password)
    checked_secrets(host, manager.value, annotator.value)
    waiting = listen(host, port)
    path, folder = study_and_folder(_demo_study() if demo else study)
    if path is not None:
        Study.open(path).close()  # what is no study says so here, not in the log of the server
    settings = Settings(
        folder=folder.absolute(),
        main=None if path is None else _name(path),
        main_path=None if path is None else path.absolute(),
        secret=manager.value,
        annotator_secret=annotator.value,
        wanted=width,
        upload_limit=upload_limit * MEGABYTE,
        **({} if is_loopback(host) else {"hosts": ()}),
    )
    serve(settings, waiting, _links(manager, annotator), typer.echo, open_browser)


@dataclass(frozen=True)
class _Secret:
    """What people of a role need to get in, and the token to print in their link."""

    value: str | None
    shown: str | None = None


def _secret(role: str, token: str | None, password: bool) -> _Secret:
    if password and token:
        raise BadOption(f"--{role}token and --{role}password are both given; one is enough")
    if password:
        name = f"{role}password"
        typed = os.environ.get(f"HAYSTAT_{name.replace('-', '_').upper()}")
        prompt = name.replace("-", " ").capitalize()
        return _Secret(typed or typer.prompt(prompt, hide_input=True, confirmation_prompt=True))
    made = secrets.token_urlsafe(24) if token == "auto" else None
    return _Secret(made or token, made)


def _links(manager: _Secret, annotator: _Secret) -> list[tuple[str, str | None]]:
    """What each link is for, and the token in it."""
    if annotator.value is None:
        return [("Label in the browser", manager.shown)]
    return [("Label in the browser", annotator.shown), ("Manage", manager.shown)]


def _name(path: Path) -> str:
    return re.sub(r"[^\w .+()-]+", "-", path.name.removesuffix(".haystat")).strip(" .-_") or "study"


def _demo_study() -> Path:
    """The demo's study in a folder of its own; what was answered there before is still there."""
    from haystat.demo.study import make_demo_study
    from haystat.web.options import PageOptions, keep_options

    path = DEMO / f"{DEMO_NAME}.haystat"
    if path.exists():
        return path
    DEMO.mkdir(exist_ok=True)
    typer.echo("Making a million pairs of records to try it with …")
    with busy("making the demo's study"), make_demo_study(path) as study:
        options = PageOptions(
            prompt="Are these two records about the same person?",
            names=("Different people", "Same person"),
            wanted=0.1,
        )
        keep_options(study, options)
    return path
