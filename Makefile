# Two commands matter: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
READY := $(VENV)/.ready
# One thread per process: several small torch processes with many threads each slow one another down.
export OMP_NUM_THREADS ?= 1

.PHONY: setup demo demo-mechanism demo-discovery test test-slurm check lock docs
.DEFAULT_GOAL := demo

setup: $(READY)

$(READY): envs/requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "vlmdx needs Python 3.11 or newer; name one: make PYTHON=python3.12 setup"; exit 1; }
	@echo "Setting up $(VENV) from envs/requirements.lock (once; torch is large)"
	@test -x $(VENV)/bin/python || $(PYTHON) -m venv $(VENV)
	@$(VENV)/bin/python -m pip install --quiet --requirement envs/requirements.lock
	@$(VENV)/bin/python -m pip install --quiet --no-deps --editable .
	@touch $@

demo: $(READY)
	@$(VENV)/bin/snakemake --quiet host progress reason rules -- all
	@echo; echo "Table:   results/ras_table.csv"; echo "Figures: results/figures/*.png"

demo-mechanism: $(READY)
	@$(VENV)/bin/snakemake --quiet host progress reason rules -- mechanism
	@echo; echo "Table:   results/mechanism/failure_modes.csv"; echo "Figures: results/mechanism/*/shapes-mechanism/*.png"

demo-discovery: $(READY)
	@$(VENV)/bin/snakemake --quiet host progress reason rules -- discovery
	@echo; echo "Table:   results/fdr_table.csv"; echo "Figures: results/figures/fdr.png, results/discovery/*/*.png"

test: $(READY)
	@$(VENV)/bin/python -m pytest -n 2 --dist loadfile

# A private SLURM on this machine: needs root for its packages, or SLURM and munge installed.
test-slurm: $(READY)
	@tests/cluster/run.sh

check: $(READY)
	$(VENV)/bin/ruff check . && $(VENV)/bin/ruff format --check .
	$(VENV)/bin/snakefmt --check Snakefile rules
	$(VENV)/bin/mypy
	$(VENV)/bin/snakemake --lint

docs: $(READY)
	$(VENV)/bin/python -m vlmdx.config.docs

# Nvidia's CUDA packages stay out: torch pins its own, and they exist for one platform only.
lock: $(READY)
	$(VENV)/bin/python -m pip install --upgrade --requirement envs/requirements.in
	$(VENV)/bin/python envs/lock.py
