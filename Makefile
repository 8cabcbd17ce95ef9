# Everything a person does here, by name. `make help` lists it.
PYTHON ?= python3.11
BIN := .venv/bin
STAMP := .venv/.installed
REQUIREMENTS := -c constraints.txt -e '.[all,dev]'
UV := $(shell command -v uv 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help install demo test test-long test-slow test-storm test-operate test-wheel check docs clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: $(STAMP)  ## .venv with every extra, versions pinned by constraints.txt

$(STAMP): pyproject.toml constraints.txt
	@echo "installing into .venv: half a minute with uv, some minutes with pip"
ifdef UV
	@$(UV) venv --quiet --seed --allow-existing --python $(PYTHON) .venv
else
	@$(PYTHON) -m venv .venv
	@$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt uv || true
endif
	@$(or $(UV),$(BIN)/uv) pip install --quiet --python $(BIN)/python $(REQUIREMENTS) || \
		$(BIN)/pip install --quiet --disable-pip-version-check $(REQUIREMENTS)
	@touch $(STAMP)

demo: install  ## medians of real data, released, and their ledger, under demo-output/
	$(BIN)/pubpriv demo

test: install  ## the fast suite, on up to four processors
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-long: install  ## what takes seconds each: statistics, a Prefect server, clusters, killed processes, audits
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m 'long and not slow and not storm and not operate and not wheel' \
		-n auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder

test-slow: install  ## the long statistical and timing tests, and a whole audit
	$(BIN)/pytest -m slow
	$(BIN)/pubpriv audit

test-storm: install  ## hundreds of kill -9 at random moments, with and without Prefect
	$(BIN)/pytest -m storm -s

test-wheel: install  ## builds the wheel, installs it afresh with and without extras, and works with it
	$(BIN)/pytest -m wheel -n 0 tests/wheel

test-operate: install  ## a real server with a worker: schedules, kills, faults, messages, the UI in a browser
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -m operate -n 5 --dist loadfile --no-loadscope-reorder

check: install  ## ruff, mypy --strict on all that is shipped, import contracts
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: install  ## the documentation's site, under build/site; a broken link is an error
	OPENBLAS_NUM_THREADS=1 NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "the site is there: open build/site/index.html"

clean:  ## forget the environment and the demo
	rm -rf .venv demo-output
