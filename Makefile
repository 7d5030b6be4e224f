# Everything sets itself up: a virtual environment in .venv, with what constraints.txt pins.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: demo test fix bench clean

demo: .venv/core
	$(BIN)/unhot demo
	@echo "(unhot is in $(BIN): put it on your path with: source $(BIN)/activate)"

test: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/pytest

fix: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench CORPUS=text.txt ARGS="--rounds 3": without a corpus, the bundled text
bench: .venv/bench
	$(BIN)/python benchmarks/peers.py $(CORPUS) $(ARGS)

clean:
	rm -rf .venv

.venv/core: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt -e .
	@touch $@

.venv/dev .venv/bench: .venv/%: .venv/core
	$(BIN)/pip install -q -c constraints.txt -e ".[$*]"
	@touch $@
