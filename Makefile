# The lab's commands. `make help` lists them.
# Every step leaves its mark only when it is whole, so an interrupted call can simply be made again.

PYTHON ?= python3
PORT ?= 8501
WORKERS ?= 3
RUN := .venv/bin/python
# Without what the build of this folder says of folders in general.
INSTALL := PYTHONWARNINGS=ignore $(RUN) -m pip install --quiet --disable-pip-version-check -c constraints.txt
unexport PYTHONDONTWRITEBYTECODE # every start of the app, and every test's process, would compile the lab again
MEASURED := bm25,simple_semantic,dense_8=simple_semantic,hyde,question_index,hybrid_rrf,plain_rrf=hybrid_rrf,multi_query,$\
  contextual,contextual_plain=contextual,contextual_rerank=contextual,$\
  rag_msr,msr_origin=rag_msr@origin,msr_improved=rag_msr,msr_raw=rag_msr@raw,msr_reformulation=rag_msr@reformulation-only,$\
  msr_reranking=rag_msr@reranking-only,ensemble,ensemble_5=ensemble,$\
  bm25_tuned=bm25@tuned,hybrid_tuned=hybrid_rrf@tuned,multi_tuned=multi_query@tuned,$\
  contextual_tuned=contextual@tuned,msr_tuned=rag_msr@tuned
SETTINGS := plain_rrf.mmr=false ensemble_5.k_final=5 dense_8.k_final=8 contextual_plain.enriched=false $\
  contextual_rerank.rerank=true msr_improved.prompt_set=improved
PAIRS := plain_rrf:simple_semantic question_index:simple_semantic hybrid_rrf:plain_rrf hyde:simple_semantic multi_query:dense_8 $\
  contextual:contextual_plain contextual_rerank:contextual_plain rag_msr:msr_raw msr_improved:msr_raw $\
  ensemble_5:contextual_rerank msr_origin:msr_raw msr_origin:msr_reranking contextual_rerank:contextual msr_reranking:msr_raw $\
  hybrid_tuned:hybrid_rrf multi_tuned:multi_query msr_tuned:rag_msr
CHECKS := $(RUN) -m ruff check . && $(RUN) -m ruff format --check . && $(RUN) -m mypy && $\
  $(RUN) -c "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports())"
DOCUMENTS := $(shell find data/corpus -name '*.md' 2>/dev/null)

.DEFAULT_GOAL := help
.PHONY: help setup demo test lint bench results api check-collection vectors screenshots clean

help: ## List the commands
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-16s %s\n", $$1, $$2}' Makefile

demo: setup ## Open the app on this machine (PORT=8501)
	@echo "The lab is at http://localhost:$(PORT) (stop it with Ctrl-C)"
	@$(RUN) -m streamlit run app.py --server.port $(PORT)

setup: .venv/indexed ## Make the environment and the index, nothing else

# Files are handed out in the order of their names, so the browser's, which take longest, come first, and no worker
# ends alone with a long one. The checks run while the tests wait for browsers; what they say is printed last.
test: .venv/tested ## Run the whole test suite and all checks (no network, no key)
	@{ $(CHECKS); } > .checks 2>&1 & checks=$$!; \
	$(RUN) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder; tests=$$?; \
	wait $$checks; checks=$$?; cat .checks; rm .checks; exit $$((tests ? tests : checks))

lint: .venv/tested ## Check style, types and layers
	@$(CHECKS)

bench: .venv/tested ## Measure quality and speed on the benchmark sets (minutes)
	$(RUN) -m pytest tests/benchmarks -s
	FUZZ=all $(RUN) -m pytest tests/documents/test_fuzzed_files.py tests/prompts/test_hostile_prompts.py \
	  tests/models/test_reply_contract.py tests/stages/test_judge_scales.py tests/values/test_settings_faults.py
	HOSTILE=all $(RUN) -m pytest tests/app/test_hostile_texts.py

results: .venv/indexed .venv/tested ## Measure the strategies on the built-in questions and write data/RESULTS.md
	$(RUN) -m rag_core eval --strategies "$(MEASURED)" $(SETTINGS:%=--set %) $(PAIRS:%=--pair %) --json > .results.json
	@mv .results.json data/results.json
	$(RUN) -m rag_core results data/results.json --into data/RESULTS.md
	PYTHONPATH=.:tests $(RUN) -m helpers.stored_results

api: .venv/tested ## Make the API page of rag_core from its docstrings, in build/api/
	$(RUN) -m pdoc --docformat google --no-show-source --output-directory build/api rag_core '!rag_core.'

check-collection: .venv/tested ## Count the built-in collection and list its problems
	@PYTHONPATH=.:tests $(RUN) -m upkeep check

vectors: .venv/tested ## Update the shipped vectors of the built-in collection
	@PYTHONPATH=.:tests $(RUN) -m upkeep vectors

screenshots: .venv/tested ## Picture every page in its states, sizes, themes and languages, in screenshots/
	PYTHONPATH=.:tests $(RUN) -m screens $(WORD)

clean: ## Remove the environment, the index and all that can be made again
	rm -rf .venv .rag .checks build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/made:
	@$(PYTHON) -c 'import sys; ok = (3, 11) <= sys.version_info[:2] <= (3, 13); sys.exit(0 if ok else "Python 3.11, 3.12 or 3.13 is needed; $(PYTHON) is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) --upgrade pip # twice as fast as Python 3.11's own
	@touch .venv/made

.venv/installed: .venv/made pyproject.toml constraints.txt
	$(INSTALL) -e .
	@touch .venv/installed

# Two processes install half of the versions each, in half the time; the last line checks that they are what is needed.
# Compiled when imported: most of what is installed never is.
.venv/tested: .venv/made pyproject.toml constraints.txt
	grep -v '^#' constraints.txt | xargs -P 2 -n 100 env $(INSTALL) --no-compile --no-deps
	$(INSTALL) --no-compile -e '.[test]'
	@touch .venv/installed .venv/tested

.venv/indexed: .venv/installed $(DOCUMENTS)
	$(RUN) -m rag_core doctor
	@touch .venv/indexed
