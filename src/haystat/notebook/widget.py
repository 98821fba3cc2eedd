"""The widget: questions in a notebook, answered by keyboard."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

from haystat.display.extras import needed
from haystat.notebook.bundle import bundled
from haystat.notebook.session import Session


def label_widget(session: Session) -> Any:
    """A widget that shows the questions of a session and takes its answers."""
    with needed("label", "anywidget", "notebook"):
        import anywidget
        import traitlets

    style = files("haystat.notebook") / "static" / "widget.css"

    class LabelWidget(anywidget.AnyWidget):  # type: ignore[misc, unused-ignore]
        """`view` is what is on the screen; messages come back as people press keys."""

        _esm = bundled("widget")
        _css = style.read_text(encoding="utf-8")
        prompt = traitlets.Unicode(session.question).tag(sync=True)
        names = traitlets.List(session.names).tag(sync=True)
        hotkeys = traitlets.List(session.keys).tag(sync=True)
        view = traitlets.Dict().tag(sync=True)

    widget = LabelWidget(view=session.view())

    def take(_: Any, message: dict[str, Any], __: Any) -> None:
        """Do what somebody did, and show what comes next."""
        if "answer" in message:
            place = message["answer"]
            session.answer(session.classes[place] if session.classes else float(place))
        elif "skip" in message:
            session.skip(str(message["skip"]))
        elif "go" in message:
            session.go(int(message["go"]))
        widget.view = session.view()

    widget.on_msg(take)
    return widget
