"""Install the tools that test_real_tools.py tries, each in a folder of its own under .tools.

python tests/judges/get_tools.py [inspect_ai] [deepeval] [mlflow] [arize-phoenix] [promptfoo]

They are no part of the environment of the tests, whose versions are pinned. A tool that was
installed whole has a file `ready` in its folder; the others are left alone by the tests.
"""

from __future__ import annotations

import json
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
PROMPTFOO = "promptfoo@0.121"


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
    """promptfoo by npm, without its optional parts, but for the database driver of this machine.

    With all of them, browsers and models among them, it takes 1.4 GB instead of 0.3.
    """
    folder = TOOLS / "promptfoo"
    folder.mkdir(parents=True, exist_ok=True)
    npm = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefer-offline"]
    npm.append("--omit=optional")
    subprocess.run([*npm, PROMPTFOO], cwd=folder, check=True)
    ask = ["node", "-p", "process.platform + '-' + process.arch"]
    machine = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    facts = json.loads((folder / "node_modules" / "libsql" / "package.json").read_text())
    drivers = [
        f"{name}@{version}"
        for name, version in facts["optionalDependencies"].items()
        if name.startswith(f"@libsql/{machine}") and "musl" not in name
    ]
    subprocess.run([*npm, *drivers], cwd=folder, check=True)
    (folder / "ready").touch()


def main() -> None:
    for name in sys.argv[1:] or [*PACKAGES, "promptfoo"]:
        if (TOOLS / name / "ready").exists():
            continue
        try:
            install_promptfoo() if name == "promptfoo" else install_package(name)
            print(f"{name} is ready")
        except (OSError, LookupError, subprocess.CalledProcessError) as error:
            print(f"{name} cannot be had here, so it is not tried: {error}")


if __name__ == "__main__":
    main()
