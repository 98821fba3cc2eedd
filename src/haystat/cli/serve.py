"""haystat serve: the labelling page."""

from __future__ import annotations

import os
import re
import secrets
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
        None, envvar="HAYSTAT_TOKEN", help="Secret that people need; auto makes one."
    ),
    password: bool = typer.Option(False, help="Ask for a password that people need."),
    width: float = typer.Option(0.1, help="Stop when the interval is this wide."),
    upload_limit: int = typer.Option(200, help="Largest upload, in megabytes."),
    demo: bool = typer.Option(False, help="Serve a study of generated records, to try it."),
    open_browser: bool = typer.Option(False, "--open", help="Open the page in a browser."),
) -> None:
    """Answer questions in the browser, alone or in a team, and see the estimate tighten.

    The page is for this machine alone unless --host says otherwise; then it needs a token or a
    password. Files outside the study's folder are out of reach. Webhooks of Label Studio go to
    /api/label-studio; it bans private addresses unless it runs with SSRF_PROTECTION_ENABLED=false,
    and haystat import --url … --watch needs no webhook.

    Example: haystat serve cats.haystat --host 0.0.0.0 --token auto
    """
    try:
        from haystat.web.server import listen, serve, study_and_folder
        from haystat.web.settings import MEGABYTE, Settings, checked_address, is_loopback
    except ImportError as error:
        raise BadOption(f"serve needs {error.name}: pip install 'haystat[web]'") from None
    secret, link_token = _secret(token, password)
    checked_address(host, secret)
    waiting = listen(host, port)
    path, folder = study_and_folder(_demo_study() if demo else study)
    if path is not None:
        Study.open(path).close()  # what is no study says so here, not in the log of the server
    settings = Settings(
        folder=folder.absolute(),
        main=None if path is None else _name(path),
        main_path=None if path is None else path.absolute(),
        secret=secret,
        wanted=width,
        upload_limit=upload_limit * MEGABYTE,
        **({} if is_loopback(host) else {"hosts": ()}),
    )
    serve(settings, waiting, link_token, typer.echo, open_browser)


def _secret(token: str | None, password: bool) -> tuple[str | None, str | None]:
    """What people need to get in, and the token to print in a link."""
    if password and token:
        raise BadOption("--token and --password are both given; one is enough")
    if password:
        typed = os.environ.get("HAYSTAT_PASSWORD")
        return typed or typer.prompt("Password", hide_input=True, confirmation_prompt=True), None
    made = secrets.token_urlsafe(24) if token == "auto" else token
    return made, made if token == "auto" else None


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
