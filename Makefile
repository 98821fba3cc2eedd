# Every target sets up what it needs; a fresh clone needs only Python 3.11 and make.

PYTHON ?= python3
BIN := .venv/bin
# pip reads the pins from here; versions in pyproject.toml are only lower bounds.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt
PYTEST := OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadgroup --max-worker-restart 0

.PHONY: demo serve browser tools test coverage lint bench docs dist clean
# Two pip runs in one environment at the same time would break it.
.NOTPARALLEL:

demo: .venv/.stamp-demo
	$(BIN)/haystat demo

# The labelling page, on generated records.
serve: .venv/.stamp-web
	$(BIN)/haystat serve --demo --open

# The tests of the page need a browser; without one they are skipped.
browser:
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && command -v apt-get >/dev/null \
	  && apt-get install -y -qq chromium >/dev/null; } \
	  || echo "no Chromium, so the page is not tried in a browser: apt-get install chromium"

# Other people's tools, each in an environment of its own: TOOLS="inspect_ai mlflow", or all.
tools:
	$(PYTHON) tests/judges/get_tools.py $(TOOLS)

test: lint browser
	$(PYTEST)

# Counting lines makes the tests slower by a third, so it is a target of its own.
coverage: .venv/.stamp-dev browser
	$(PYTEST) --cov --cov-report=term

lint: .venv/.stamp-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: .venv/.stamp-dev
	$(BIN)/python bench/stage.py

docs: .venv/.stamp-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

# A wheel and a source distribution, each tried in a fresh environment outside the checkout; the
# wheel once more with the extras that the first hours need.
dist: .venv/.stamp-venv
	$(INSTALL) build
	rm -rf dist && $(BIN)/python -m build --quiet
	for file in dist/*.tar.gz dist/*.whl; do \
	  rm -rf dist/.try && $(PYTHON) -m venv dist/.try && \
	  dist/.try/bin/python -m pip install --quiet -c constraints.txt $$file && \
	  cp -r bench/try_install.py docs/start dist/.try/ && \
	  (cd dist/.try && bin/python try_install.py) || exit 1; \
	done
	dist/.try/bin/python -m pip install --quiet -c constraints.txt \
	  "$$(ls dist/*.whl)[web,plots,frames,features,splink]"
	cd dist/.try && bin/python try_install.py start/*.md
	rm -rf dist/.try

clean:
	rm -rf .venv .tools site build dist htmlcov .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# A stamp is remade when the requirements change, so an old environment follows them.
.venv/.stamp-venv:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "haystat needs Python 3.11 or later")'
	$(PYTHON) -m venv .venv
	touch $@

.venv/.stamp-demo: .venv/.stamp-venv pyproject.toml constraints.txt
	$(INSTALL) -e '.[plots,frames,paper]'
	touch $@

.venv/.stamp-dev: .venv/.stamp-venv pyproject.toml constraints.txt
	$(INSTALL) -e '.[plots,frames,paper,dev]'
	touch $@

.venv/.stamp-web: .venv/.stamp-venv pyproject.toml constraints.txt
	$(INSTALL) -e '.[web]'
	touch $@

.venv/.stamp-docs: .venv/.stamp-venv pyproject.toml constraints.txt
	$(INSTALL) -e '.[docs]'
	touch $@
