# Everything here can be typed by hand: the README has the bare commands. Paths are relative, so that a path with
# spaces is no trouble. Variables for up and demo: PORT, WORKERS, DATA_DIR, URL.

PYTHON ?= python3
PIP = .venv/bin/python -m pip --disable-pip-version-check --no-input --quiet --quiet
COMPILE = .venv/bin/python -m uv --no-config pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

# Settings for what loads them and reaches no server.
NO_SERVERS = env DATA_DIR=/dev/null DATABASE_URL=postgresql://127.0.0.1:1/none REDIS_URL=redis://127.0.0.1:1/0 \
	S3_ENDPOINT_URL=http://127.0.0.1:1 S3_ACCESS_KEY_ID=none S3_SECRET_ACCESS_KEY=none SCRAPEJOBS_SECRET_KEY=none

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install install-dev up demo test test-unit test-integration test-e2e test-chaos chaos fuzz mutants bench-queue bench-api bench-fetch lint format docs lock clean

help: ## this list
	@grep -E '^[a-z0-9-]+:.*## ' Makefile | sed -E 's/:.*## /\t/' | expand -t 20

.venv/installed: requirements-embedded.txt client/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: make PYTHON=..."; exit 1; }
	@[ -x .venv/bin/python ] && .venv/bin/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear .venv
	@echo "installing into .venv (under a minute, the first time)"
	@$(PIP) install --require-hashes -r requirements-embedded.txt
	@$(PIP) install --no-deps --no-build-isolation --editable client
	@touch .venv/installed

.venv/installed-dev: .venv/installed tests/requirements.txt
	@echo "installing what the tests and linters need into .venv"
	@$(PIP) install --require-hashes -r tests/requirements.txt
	@touch .venv/installed-dev

install: .venv/installed ## the service, its embedded servers and the client, into .venv
install-dev: .venv/installed-dev ## and what tests and linters need

up: .venv/installed ## the whole service on this machine; Ctrl-C stops it
	@exec .venv/bin/python manage.py up

demo: .venv/installed ## one run of the main job, shown; URL=... fetches that instead
	@exec .venv/bin/python manage.py demo $(if $(URL),--url "$$URL")

test: test-unit test-integration test-e2e test-chaos ## all tests
test-unit: .venv/installed-dev ## no servers, seconds
	.venv/bin/python -m pytest tests/unit
test-integration: .venv/installed-dev ## on real servers
	.venv/bin/python -m pytest -n 2 tests/integration
test-e2e: .venv/installed-dev ## real roles as processes
	.venv/bin/python -m pytest tests/e2e
test-chaos: .venv/installed-dev ## real roles under fire, the short part
	.venv/bin/python -m pytest tests/chaos
chaos: .venv/installed-dev ## every fault of the chaos suite, and its scorecard (half an hour)
	.venv/bin/python -m tests.chaos $(CHAOS)
fuzz: .venv/installed-dev ## the API's contract and the readers of requests, with new input each time (ten minutes)
	FUZZ_EXAMPLES=1000 .venv/bin/python -m pytest tests/e2e/test_contract.py
	.venv/bin/python -m pytest --hypothesis-profile fuzz tests/unit/gateway/test_properties.py
mutants: .venv/installed-dev ## take each safeguard out, and see the test that holds it go red (ten minutes)
	.venv/bin/python -m tests.mutants

bench-queue: .venv/installed ## jobs a second through the queue, beside the limit and beside peers (ten minutes)
	@$(PIP) install --require-hashes -r benchmarks/requirements.txt
	.venv/bin/python -m benchmarks.queue

bench-fetch: .venv/installed ## pages a second and CPU a page, beside the limit and beside Scrapy (five minutes)
	@$(PIP) install --require-hashes -r benchmarks/requirements.txt
	.venv/bin/python -m benchmarks.fetch

bench-api: .venv/installed ## the API under load, and the CPU of each request beside the usual way (five minutes)
	.venv/bin/python -m benchmarks.api

lint: .venv/installed-dev ## style, types, import rules, migrations
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	$(NO_SERVERS) .venv/bin/python -m mypy
	.venv/bin/lint-imports
	$(NO_SERVERS) .venv/bin/python -W ignore manage.py makemigrations --check --dry-run

format: .venv/installed-dev ## let ruff put the code in order
	.venv/bin/python -m ruff check --fix .
	.venv/bin/python -m ruff format .

docs: .venv/installed-dev ## write the generated pages anew; tests say when they are stale
	$(NO_SERVERS) .venv/bin/python manage.py openapi
	$(NO_SERVERS) .venv/bin/python manage.py show_config --markdown > docs/reference/settings.md
	$(NO_SERVERS) .venv/bin/python manage.py state_machine > docs/state-machine.md
	PYTHONPATH=client .venv/bin/python -m scrapejobs_client.cli.reference > docs/reference/command-line.md

lock: .venv/installed-dev ## write the locked requirements anew
	$(COMPILE) pyproject.toml -o requirements.txt
	$(COMPILE) pyproject.toml --extra embedded -c requirements.txt -o requirements-embedded.txt
	$(COMPILE) --group dev -c requirements.txt -o tests/requirements.txt
	$(COMPILE) --group bench -c requirements-embedded.txt -o benchmarks/requirements.txt

DATA_DIR ?= .data
clean: ## remove .venv, the caches and the data of the local stack
	@if [ -L "$(DATA_DIR)/postgres" ]; then rm -rf "$$(dirname "$$(readlink "$(DATA_DIR)/postgres")")"; fi
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis "$(DATA_DIR)"
