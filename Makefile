# make run and make test install what is missing, build, and do it; see `make help`.
MODEL := models/SmolLM2-135M-Instruct.Q4_1.gguf
PROMPT := What is the capital of France?
JOBS ?= 2

.PHONY: help run test test-all build clean
.NOTPARALLEL:

help:
	@echo "make run       install what is missing, fetch a small language model, build, and ask it a question"
	@echo "               (another one: make run PROMPT='...')"
	@echo "make test      install what is missing, build, and run everything that CI runs"
	@echo "make test-all  the same and the long checks"
	@echo "make build     install what is missing and build into build/release"
	@echo "make clean     remove build/ (models/ stays)"
	@echo "JOBS=N sets the number of compile jobs (2)"

build:
	@tools/setup.sh build
	@tools/build.sh release $(JOBS)

run: export TENON_PROMPT = $(PROMPT)
run:
	@tools/setup.sh build
	@tools/build.sh release $(JOBS) tenon_cli
	@tools/fetch_model.sh
	@printf '> %s\n' "$$TENON_PROMPT"
	@build/release/tenon run $(MODEL) -p "$$TENON_PROMPT"

test:
	@tools/setup.sh build test wasm
	@JOBS=$(JOBS) tools/run_tests.sh

test-all: export TENON_TEST_ALL = 1
test-all: test

clean:
	rm -rf build
