"""Install the tools that test_real_tools.py tries, each in a folder of its own under .tools.

python tests/judges/get_tools.py [inspect_ai] [deepeval] [mlflow] [arize-phoenix] [promptfoo]

They are no part of the environment of the tests, whose versions are pinned. A tool that was
installed whole has a file `ready` in its folder; the others are left alone by the tests.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
TOOLS = HERE.parents[1] / ".tools"
#: package -> what to install, and a script that shows whether it works here
PACKAGES = {
    "inspect_ai": ("inspect_ai==0.3.285", "with_inspect.py"),
    "deepeval": ("deepeval", "with_deepeval.py"),
    "mlflow": ("mlflow>=3.17", None),
    "arize-phoenix": ("arize-phoenix>=20", None),
}


def install_package(name: str) -> None:
    """A virtual environment with a package, and a try of it."""
    wanted, script = PACKAGES[name]
    folder = TOOLS / name
    python = folder / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    # Compiling what is never imported takes half of the time.
    pip = [python, "-m", "pip", "install", "--quiet", "--no-compile", wanted]
    subprocess.run(pip, check=True, env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    with tempfile.TemporaryDirectory() as place:
        if script is not None:
            subprocess.run([python, HERE / script], cwd=place, check=True, capture_output=True)
    (folder / "ready").touch()


def install_promptfoo() -> None:
    """promptfoo by npm."""
    folder = TOOLS / "promptfoo"
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(["npm", "install", "--silent", "promptfoo"], cwd=folder, check=True)
    (folder / "ready").touch()


def main() -> None:
    for name in sys.argv[1:] or [*PACKAGES, "promptfoo"]:
        if (TOOLS / name / "ready").exists():
            continue
        try:
            install_promptfoo() if name == "promptfoo" else install_package(name)
            print(f"{name} is ready")
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"{name} cannot be had here, so it is not tried: {error}")


if __name__ == "__main__":
    main()
