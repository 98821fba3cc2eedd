"""The command `haystat`: Ctrl-C ends it quietly from the first moment on."""

from __future__ import annotations

import os
import signal


def main() -> None:
    """Import the command line, which takes a second or so, and run it."""
    # Nothing is open yet that would have to be closed; libraries may not expect an exception here.
    signal.signal(signal.SIGINT, lambda *_: os._exit(130))
    from haystat.cli import main as run

    signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


if __name__ == "__main__":
    main()
