# The two commands of the README are `make book` and `make test`; `make help` lists the rest.
.DEFAULT_GOAL := help
.NOTPARALLEL:

# The first Python that is new enough; `make PYTHON=/path/to/python book` overrides the choice.
PYTHON ?= $(shell for python in python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
ifeq ($(strip $(PYTHON)),)
$(error longfair needs Python 3.11 or newer on the PATH, or make PYTHON=/path/to/python)
endif

# What `make results` computes, and with how much effort.
EXPERIMENTS ?= elbert/lending
PROFILE ?= book
# Notebooks beside each other: one per core, but no more than eight, each takes about a gigabyte.
JOBS ?= $(shell cores=$$(getconf _NPROCESSORS_ONLN || echo 2); if [ $$cores -gt 8 ]; then echo 8; else echo $$cores; fi)
# Tests wait for a browser and for commands they start, so one process more than cores shares them.
TESTERS ?= $(shell expr $(JOBS) + 1)

# One thread per process: faster on shared cores, and the only way to the same bits every time.
export OMP_NUM_THREADS := 1
export OPENBLAS_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
export PYTHONHASHSEED := 0
# Kernels, workers and commands load modules compiled once, also where the shell forbids to keep them.
unexport PYTHONDONTWRITEBYTECODE
# Notebook kernels use a profile of their own, which scripts/run_notebooks.py writes.
export IPYTHONDIR := $(CURDIR)/_build/ipython

# nbval compares cells tagged nbval-check-output, as the stage before executed them, with the stored.
NBVAL := -p executed_notebooks --nbval-lax --nbval-sanitize-with tests/notebooks/sanitize.cfg

VENV := .venv/bin/python
STAGE := @$(PYTHON) scripts/stage.py
INSTALL := $(STAGE) run "environment" $(PYTHON) scripts/install.py
BUILD := "pages" $(VENV) scripts/build_book.py

.PHONY: help setup book pdf test results bench notebooks lock clean

help: ## list the tasks
	@echo "longfair: make TASK, where TASK is one of"
	@sed -n 's/^\([a-z]*\):.*## /  \1\t/p' Makefile | expand -t 14

setup: ## create .venv and install the locked versions and the package
	$(STAGE) start setup
	$(INSTALL)
	$(STAGE) end "use .venv/bin/longfair, or source .venv/bin/activate"

book: ## set up, run notebooks whose source changed, build _build/html/index.html
	$(STAGE) start book
	$(INSTALL)
	$(STAGE) run "notebooks" $(VENV) scripts/run_notebooks.py --write --stale --jobs $(JOBS)
	$(STAGE) run $(BUILD)
	$(STAGE) end "open _build/html/index.html"

pdf: book ## build the book, then print it whole, into _build/html/whole.pdf
	$(STAGE) start pdf
	$(STAGE) run "one page" $(VENV) scripts/print_book.py
	$(STAGE) end "open _build/html/whole.pdf, or whole.html beside it"

# Checking the results reads all of them once, for the pages and notebooks that follow. The book takes
# longest and is built by one process, so what runs beside it gives way.
test: ## set up, then style, types, results, notebooks, book, unit and browser tests
	$(STAGE) start test
	$(INSTALL)
	$(STAGE) run "style" $(VENV) -m ruff check .
	$(STAGE) run "layout" $(VENV) -m ruff format --check .
	$(STAGE) run "types" $(VENV) -m mypy \
		-- "results" $(VENV) -m longfair verify --sample 4 --seconds 30 --workers 1
	$(STAGE) run $(BUILD) \
		-- "notebooks" nice $(VENV) scripts/run_notebooks.py --check --jobs $(JOBS)
	$(STAGE) run "tests" $(VENV) -m pytest -n $(TESTERS) --dist loadfile --no-loadscope-reorder \
		$(NBVAL) tests notebooks
	$(STAGE) end "every check passed"

results: ## run EXPERIMENTS (elbert/lending) with PROFILE (book) into results/
	$(STAGE) start results
	$(INSTALL)
	$(STAGE) run "runs" $(VENV) -m longfair run $(EXPERIMENTS) --profile $(PROFILE)
	$(STAGE) run "verdicts" $(VENV) -m longfair claims
	$(STAGE) end "the runs are in results/; make notebooks brings them into the book"

bench: ## measure the speed of environments and of training, into results/benchmarks/
	$(STAGE) start bench
	$(INSTALL)
	$(STAGE) run "environments and training" $(VENV) scripts/write_benchmarks.py
	$(STAGE) end "higher is faster; compare ratios, not machines"

notebooks: ## run every notebook and refresh the committed .ipynb files
	$(STAGE) start notebooks
	$(INSTALL)
	$(STAGE) run "notebooks" $(VENV) scripts/run_notebooks.py --write --jobs $(JOBS)
	$(STAGE) end "look at git diff, then make book"

lock: ## resolve requirements.in into requirements.lock and the files of hashes
	$(STAGE) start lock
	$(INSTALL)
	$(STAGE) run "lock" $(VENV) scripts/lock.py
	$(STAGE) end "now make test, and bring environment.yml in step"

clean: ## remove what the tasks built; .venv and results/ stay
	@rm -rf _build conf.py book/_generated book/api book/claims .pytest_cache .mypy_cache .ruff_cache .hypothesis .benchmarks
	@find src tests scripts book notebooks -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "make clean finished: _build and the caches are gone; .venv and results/ stay"
