# Everything sets itself up: a virtual environment in .venv, with what constraints.txt pins.
PYTHON ?= python3
BIN := .venv/bin
# Python's own byte code is kept, whatever the shell says: the tests start many processes
export PYTHONDONTWRITEBYTECODE :=
# OpenBLAS rounds by the place of arrays in memory on CPUs with AVX-512: some tests compare bits
export OPENBLAS_CORETYPE ?= Haswell
# tests write thousands of small files: in memory, if there is room for them
MEMORY := $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 4000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)
PYTEST := $(MEMORY) $(BIN)/pytest -n auto --dist loadfile

.PHONY: demo test lint quick house soak fix bench families glove phrases clean

demo: .venv/core
	$(BIN)/unhot demo
	@echo "(unhot is in $(BIN): put it on your path with: source $(BIN)/activate)"

# make test ARGS="tests/graphs -k walk": only these tests
test: .venv/dev
ifeq ($(ARGS),)
	$(MAKE) --no-print-directory -j 2 lint house
endif
	$(PYTEST) $(ARGS)

lint: .venv/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# lint, types and the tests nearest to what changed, in less than a minute; make quick ARGS="--since main -k walk"
quick: .venv/dev
	$(MEMORY) $(BIN)/python tools/quick.py $(ARGS)

# how large and how deep the package is, compared with the limits in tools/house_limits.toml
house: .venv/dev
	$(BIN)/python tools/house.py

# what `make test` samples, in full: 50 kills, 100 rounds of two writers, full disks, 1,000,000 damaged files, more examples, every command of the
# documentation; about an hour. make soak DATA=FOLDER: also recommenders on real logs, as far as FOLDER has them (what is skipped is said)
soak: .venv/dev
	UNHOT_SOAK=1 UNHOT_DATA="$(DATA)" $(BIN)/pytest -rs tests/soak
	UNHOT_SOAK=1 $(PYTEST) --ignore tests/soak tests
	$(BIN)/python tools/fuzz.py --inputs 1000000 --jobs 2
	$(BIN)/python tools/run_docs.py

fix: .venv/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# make bench CORPUS=text.txt ARGS="--rounds 3": without a corpus, the bundled text
bench: .venv/bench
	$(BIN)/python benchmarks/peers.py $(CORPUS) $(ARGS)

# make families CORPUS=text.txt ARGS="--analogies questions-words.txt": every kind of model on one text
families: .venv/core
	$(BIN)/python benchmarks/families.py $(CORPUS) $(ARGS)

# make glove CORPUS=text.txt GLOVE=GloVe/build: beside Stanford's programs, which you build yourself; without GLOVE, unhot alone
glove: .venv/core
	$(BIN)/python benchmarks/glove.py $(CORPUS) $(if $(GLOVE),--glove $(GLOVE)) $(ARGS)

# make phrases CORPUS=text.txt: beside gensim
phrases: .venv/bench
	$(BIN)/python benchmarks/phrases.py $(CORPUS) $(ARGS)

clean:
	rm -rf .venv

# Python compiles the modules that it imports; pip would compile all of them, most for nothing
EXTRAS_dev := [dev]
EXTRAS_bench := [bench]
.venv/core .venv/dev .venv/bench: .venv/%: pyproject.toml constraints.txt
	test -x $(BIN)/pip || $(PYTHON) -m venv .venv
	$(BIN)/pip install -q --no-compile -c constraints.txt -e ".$(EXTRAS_$*)"
	@touch $@
