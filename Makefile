SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
ENGINE ?= noida
STAMP := $(VENV)/.installed
DEMO_STAMP := $(VENV)/.installed-demo
DEMO := build/demo
DEMO_ATTACKS := claim-varied@1..3:late-3; claim-varied@1..2:late-2; claim-varied@1:late-1
DEMO_BASELINES := majority,voices:withstand=2,voices:withstand=3

.DEFAULT_GOAL := help
.PHONY: help demo sizes stream-demo engines engines-stop test test-all lint bench chaos docs-check clean install lock deployment-files pin-images

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-16s %s\n", $$1, $$2}'

$(DEMO_STAMP): pyproject.toml requirements/demo.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	requirements/install.sh $(BIN)/python demo
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

$(STAMP): $(DEMO_STAMP) requirements/development.txt
	requirements/install.sh $(BIN)/python development
	@touch $@

install: $(STAMP) ## create .venv and install everything the project and its tests need

lock: ## write requirements/*.txt anew after a change of pyproject.toml or constraints.txt
	@test -x $(BIN)/uv || $(MAKE) install
	$(BIN)/python requirements/lock.py

deployment-files: ## make what infra/compose.yaml needs: passwords, a certificate, digests of images
	infra/secrets.sh
	infra/pin-images.sh

pin-images: ## ask the registries for the digests of infra/images.txt
	infra/pin-images.sh

demo: $(DEMO_STAMP) ## replay a history under an attack that grows, beside a plain vote, and write a report
	$(BIN)/radarstream simulate --questions 12 --snapshots 4 --off-topic 0.6 --out $(DEMO)/history.json
	RADARSTREAM_DEFENSE__COMPARE_WITH= $(BIN)/radarstream replay $(DEMO)/history.json --out $(DEMO) --attack '$(DEMO_ATTACKS)' --baselines '$(DEMO_BASELINES)'

sizes: $(STAMP) ## measure what each extra installs: megabytes to download and on disk
	$(BIN)/python requirements/sizes.py

stream-demo: $(STAMP) ## run the continuous job on a throw-away broker, command by command
	$(BIN)/python -m tests.end_to_end.stream_demo

engines: $(STAMP) ## fetch Apache Kafka and Flink and start them, or what has ended of them, on loopback; ENGINES="kafka kafka3 flink" chooses
	$(BIN)/python -m tests.engines fetch
	$(BIN)/python -m tests.engines start $(ENGINES)

engines-stop: ## stop what `make engines` started
	$(BIN)/python -m tests.engines stop

test: $(STAMP) ## run the tests on one broker and SQLite: all but those of test-all and bench
	@bash tests/browser_setup.sh
	@$(BIN)/python -m tests.engines fetch --optional
	$(BIN)/lint-imports
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses 2 --dist loadfile --benchmark-disable -rs

test-all: test ## and then those that take minutes, other brokers, PostgreSQL and more seeds; Kafka and Flink need a JDK 17 and Maven
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m long --numprocesses 2 --dist loadfile --benchmark-disable --durations=5 -rs

lint: $(STAMP) ## check style, types and layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(STAMP) ## measure; figures in build/bench-figures.json, timings in build/bench.json
	@mkdir -p build
	$(BIN)/python -m pytest tests/benchmarks -m bench --benchmark-json build/bench.json

chaos: $(STAMP) ## kill the job, its broker and its database under load (ENGINE: noida, kafka, flink); figures in build/chaos-ENGINE.json
	$(BIN)/python -m tests.chaos --engine $(ENGINE)

docs-check: $(STAMP) ## run the README's Python and check generated files
	$(BIN)/python -m pytest --doctest-glob='README.md' --doctest-modules README.md radarstream
	$(BIN)/python -m radarstream.schemas.json_schema --check
	$(BIN)/python -m radarstream.pipelines.settings.reference --check

clean: ## remove what the targets made, except .venv
	@test ! -e build/engines/run/state.json || $(BIN)/python -m tests.engines stop
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis .benchmarks
