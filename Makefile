# The course's commands; `make help` lists them. Everything is installed into .venv, and nowhere else.

PYTHON ?= python3
PORT ?= 8000
# A package index to look for torch in besides the usual one. On Linux without an NVIDIA GPU:
#   make book TORCH_INDEX=https://download.pytorch.org/whl/cpu     (saves several gigabytes)
TORCH_INDEX ?=
PYTEST_ARGS ?=
# How many processes run the tests side by side, a file at a time, the longest first (tests/conftest.py). For two cores
# three, because some tests wait; each takes 1.2 GB of memory.
PROCESSES ?= 3
# A test that hangs ends the run, with its traceback: the longest takes half a minute.
NO_HANG := --max-worker-restart 0 -o faulthandler_timeout=300 -o faulthandler_exit_on_timeout=true
SUBMISSIONS ?=
# Which kinds of kernel, and what under them: tools/processors.py --help.
PROCESSORS ?=
WORKERS ?= 2
ASSIGNMENT ?=
# Which chapter's deck: the name of its page, such as my-topic; all where it is empty.
CHAPTER ?=
# Which stored results, and how: python -m course_lib experiments verify --help.
RESULTS ?=
COURSE ?=
# The words that a course's own assignments are drawn from; students must not be able to guess them.
SEED ?=
# Of which chapters an exam asks, and how many questions of each (without them: all).
CHAPTERS ?=
QUESTIONS ?=
# Which plan of the instructor's guide, and its first Monday: python -m exercises.engine.plans --help.
PLAN ?=
START ?=
# What `make pin` calls the term: a part of the name of its branch.
TERM_NAME ?=

PYTHON_FOLDERS := course_lib tools exercises tests benchmarks

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SCALE_STAMP := .venv-scale/.installed
# Where the environment of `make test-scale` takes its torch from, besides the usual index: the build for the CPU.
SCALE_INDEX ?= $(or $(TORCH_INDEX),https://download.pytorch.org/whl/cpu)

.DEFAULT_GOAL := help
.PHONY: help setup book python-in-page pdf site-zip slides serve lab test test-fast test-pipelines test-thorough test-launch test-scale test-gpu chapter lint claims results verify-results notebooks pin bench classroom grade-by-hand variant similarity exam syllabus test-histories linkcheck lock address clean test-processors

help: ## list these commands
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^##> / { print "  " substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@printf '\nRarer ones: README.md, CONTRIBUTING.md and exercises/README.md.\n'

##@ To teach a term: six commands, where CLASS is a folder of your choice (the instructor's guide says more)
##> 1. .venv/bin/python -m exercises.engine.classroom roster --from EXPORT --course CLASS   (once: your platform's list)
##> 2. .venv/bin/python -m exercises.engine.classroom release --course CLASS                (once: what students get)
##> 3. make classroom SUBMISSIONS=FOLDER COURSE=CLASS      (each week: collect, grade, give feedback)
##> 4. make grade-by-hand COURSE=CLASS                     (each week: texts beside their rubric; then 3 again)
##> 5. .venv/bin/python -m exercises.engine.marks --course CLASS --confirm                  (at the end: the marks)
##> 6. .venv/bin/python -m exercises.engine.classroom export --to canvas --course CLASS     (or moodle, blackboard)

##@ To teach, besides
classroom: $(STAMP) ## release, collect, grade and give feedback (SUBMISSIONS=folder WORKERS=2 ASSIGNMENT=name COURSE=folder; exercises/README.md)
	$(BIN)/python -m exercises.engine.classroom $(if $(SUBMISSIONS),all --submissions "$(SUBMISSIONS)" --workers $(WORKERS),release) $(if $(ASSIGNMENT),--assignment "$(ASSIGNMENT)") $(if $(COURSE),--course "$(COURSE)")

# open the pages on which a person gives marks (COURSE=folder ASSIGNMENT=name)
grade-by-hand: $(STAMP)
	$(BIN)/python -m exercises.engine.classroom by-hand $(if $(COURSE),--course "$(COURSE)") $(if $(ASSIGNMENT),--assignment "$(ASSIGNMENT)")

variant: $(STAMP) ## write assignments with numbers and questions of your own (SEED=words-nobody-guesses COURSE=folder ASSIGNMENT=name)
	$(BIN)/python -m exercises.engine.variant --seed "$(SEED)" $(if $(COURSE),--course "$(COURSE)") $(if $(ASSIGNMENT),--assignment "$(ASSIGNMENT)")

# compare the code of a class with each other and with the solutions (COURSE=folder ASSIGNMENT=name)
similarity: $(STAMP)
	$(BIN)/python -m exercises.engine.similarity $(if $(COURSE),--course "$(COURSE)") $(if $(ASSIGNMENT),--assignment "$(ASSIGNMENT)")

exam: $(STAMP) ## write exam questions, and answers with marks, into _build/exam (SEED=words-nobody-guesses CHAPTERS="ddc" QUESTIONS=4)
	$(BIN)/python -m exercises.engine.exam --seed "$(SEED)" $(if $(CHAPTERS),--chapters $(CHAPTERS)) $(if $(QUESTIONS),--questions "$(QUESTIONS)")

slides: book ## write a deck for every lecture, with speaker's notes, into _build/slides (CHAPTER=my-topic)
	$(BIN)/python -m tools.slides $(CHAPTER)

syllabus: $(STAMP) ## write a syllabus with the weeks of a plan, and hours, into _build/syllabus (PLAN=eight-weeks START=2027-01-11 COURSE=folder)
	$(BIN)/python -m exercises.engine.plans $(if $(PLAN),--plan "$(PLAN)") $(if $(START),--start "$(START)") $(if $(COURSE),--course "$(COURSE)")

##@ To read and to learn
setup: $(STAMP) ## install everything into .venv (the other commands do it by themselves, once)

$(STAMP): requirements.txt pyproject.toml
	@$(PYTHON) tools/setup_venv.py $(VENV) --torch-index "$(TORCH_INDEX)"
	@touch $@

book: $(STAMP) ## build the website into _build/html, warnings as errors
	$(BIN)/jupyter-book build . -W --keep-going
	@echo "Open _build/html/index.html, or run: make serve"

pdf: book ## print the whole book into _build/html/two-tower-models.pdf (minutes; needs Chromium)
	$(BIN)/python -m tools.pdf

# fetch Python for the pages once (28 MB): the next make book lets readers run the cells that are tagged run-here
python-in-page: $(STAMP)
	$(BIN)/python -m tools.python_in_page

# pack the whole website into one file, _build/html/two-tower-models-site.zip (after make pdf: with the PDF)
site-zip: book
	$(BIN)/python -m tools.site_zip

serve: book ## build the website and serve it at http://127.0.0.1:8000 (PORT=...)
	$(BIN)/python -m http.server $(PORT) --bind 127.0.0.1 --directory _build/html

lab: $(STAMP) ## open the chapters in JupyterLab: plain copies in notebooks/, where what you change stays
	@$(BIN)/python -m tools.export_notebooks notebooks --lab
	$(BIN)/jupyter lab --notebook-dir notebooks

##@ To contribute
# One thread: the tests' products are small, and a second thread costs more than it brings on a busy machine.
test: export OMP_NUM_THREADS := 1
test: book ## build the website and run the tests, the pipelines excepted (PYTEST_ARGS=... adds arguments)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile $(NO_HANG) -m "not pipeline and not gpu" $(PYTEST_ARGS)

test-fast: export OMP_NUM_THREADS := 1
test-fast: PROCESSES := 2
test-fast: $(STAMP) ## run the tests that take less than a second and need neither website nor browser
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m "not slow and not seconds and not pipeline and not browser and not laptop and not gpu" --ignore=tests/site --ignore=tests/notebooks $(PYTEST_ARGS)

test-pipelines: export OMP_NUM_THREADS := 1
test-pipelines: book ## run what `make test` leaves out: whole classrooms, installations, exports in JupyterLab, each page in both themes
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m pipeline $(PYTEST_ARGS)

test-thorough: export COURSE_EXAMPLES := thorough
test-thorough: export OMP_NUM_THREADS := 1
# run the property tests with ten times as many examples, the audit's with twenty times as many models
test-thorough: $(STAMP)
	$(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile -m "not browser and not laptop" tests/library tests/audit $(PYTEST_ARGS)

test-histories: export OMP_NUM_THREADS := 1
# run 500 random terms of a class, killed at random places, and 10 with the real judge (an hour; COURSE_TRIES=50: a tenth)
test-histories: $(STAMP)
	COURSE_TRIES=$(or $(COURSE_TRIES),500) $(BIN)/python -m pytest -n $(PROCESSES) --dist load tests/exercises/test_histories.py $(PYTEST_ARGS)

# run the notebooks in new environments like Binder's and Colab's (2 GB each, ten minutes)
test-launch: $(STAMP)
	$(if $(TORCH_INDEX),PIP_EXTRA_INDEX_URL="$(TORCH_INDEX)") $(BIN)/python -m pytest -m "launch or not launch" tests/launch $(PYTEST_ARGS)

$(SCALE_STAMP): requirements-scale.txt pyproject.toml
	@$(PYTHON) tools/setup_venv.py .venv-scale --lock requirements-scale.txt --torch-index "$(SCALE_INDEX)"
	@touch $@

test-scale: export OMP_NUM_THREADS := 1
# run the tests of sharded tables, in an environment with TorchRec (.venv-scale, 1.6 GB; Linux)
test-scale: $(SCALE_STAMP)
	.venv-scale/bin/python -m pytest -m scale tests/library/test_sharded.py tests/experiments/test_scale_tables.py $(PYTEST_ARGS)

# run the tests of computing on an NVIDIA GPU, two minutes with one (skipped without)
test-gpu: $(STAMP)
	$(BIN)/python -m pytest -m gpu tests/library/gpu -n 4 $(PYTEST_ARGS)

chapter: $(STAMP) ## write a new chapter that works at once: NAME=my-topic PART=sampling TITLE="My topic"
	@$(BIN)/python -m tools.new_chapter "$(NAME)" $(if $(PART),--part "$(PART)") $(if $(TITLE),--title "$(TITLE)")

lint: $(STAMP) ## format, lint and type-check the code, and read the prose (FIX=1 mends what can be mended)
	$(BIN)/ruff format $(if $(FIX),,--check) $(PYTHON_FOLDERS)
	$(BIN)/ruff check $(if $(FIX),--fix) $(PYTHON_FOLDERS)
	$(BIN)/mypy
	$(BIN)/python -m tools.prose

# run notebooks and numeric tests under other processors' kernels (PROCESSORS="--kinds sse nudged")
test-processors: $(STAMP)
	$(BIN)/python tools/processors.py -n $(PROCESSES) $(PROCESSORS)

bench: $(STAMP) ## measure the speeds that the course promises (benchmarks/README.md)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file || exit 1; done

##@ To do research
claims: $(STAMP) ## check every claim of the course
	$(BIN)/python -m course_lib claims check

results: export OMP_NUM_THREADS := 1
results: $(STAMP) ## make the stored results of experiments anew whose code has changed (hours; goes on after a stop)
	$(BIN)/python -m course_lib experiments again $(RESULTS)

verify-results: export OMP_NUM_THREADS := 1
# run some cells of each stored result again and compare the digits (RESULTS="P0-E1 --cells 2")
verify-results: $(STAMP)
	$(BIN)/python -m course_lib experiments verify $(RESULTS)

# write the copies of the notebooks that Binder and Colab open into _build/notebooks
notebooks: $(STAMP)
	$(BIN)/python -m tools.export_notebooks _build/notebooks

# make a branch with the notebooks as they are today, for a class: TERM_NAME=autumn-2026
pin: $(STAMP)
	@$(BIN)/python -m tools.pin "$(TERM_NAME)"


# visit every outside link of the book (needs the network)
linkcheck: $(STAMP)
	$(BIN)/jupyter-book build . --builder linkcheck

# resolve the dependencies afresh and rewrite requirements.txt
lock:
	$(PYTHON) tools/setup_venv.py _build/locks --write --upgrade --torch-index "$(TORCH_INDEX)"

##@ To publish
address: ## put your repository's address in, and into every file that repeats it (TO=https://github.com/you/course DOI=10.5281/zenodo.N CHECK=1)
	$(PYTHON) tools/address.py $(if $(TO),--to "$(TO)") $(if $(DOI),--doi "$(DOI)") $(if $(CHECK),--check)

# remove the built website and its caches (.venv and .venv-scale stay)
clean:
	rm -rf _build build *.egg-info .pytest_cache .hypothesis
