# The verbs of the project; CMake does the work. `make help` lists them.
BUILD ?= build
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
DEMO ?= demo-output
CMAKE_ARGS ?=
CLANG_FORMAT ?= clang-format
BENCH_MODEL ?= --config tiny --size 84x56

PROGRAM = $(BUILD)/bin/lingbot-map
CXX_FILES = git ls-files --cached --others --exclude-standard '*.cpp' '*.hpp' '*.cu' '*.cuh'

.PHONY: help deps build test demo bench format check-format lint sanitize sanitize-gpu install

help:  ## list the verbs
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

deps:  ## install the Debian packages that are missing, fetch the headers for a GPU build
	@scripts/install_deps.sh
	@scripts/fetch_headers.sh

build: deps  ## build everything; the program is build/bin/lingbot-map
	cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)
	cmake --build $(BUILD) --parallel $(JOBS)

test: build  ## run the tests
	ctest --test-dir $(BUILD) --output-on-failure --parallel $(JOBS)

sanitize: deps  ## run the tests again under AddressSanitizer and UndefinedBehaviorSanitizer (in build-asan)
	cmake -S . -B build-asan -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG="-O1 -g1" \
	  -DLINGBOT_MAP_SANITIZE=address,undefined -DLINGBOT_MAP_BENCHMARKS=OFF -DLINGBOT_MAP_CUDA=OFF $(CMAKE_ARGS)
	cmake --build build-asan --parallel $(JOBS)
	ctest --test-dir build-asan --output-on-failure --parallel $(JOBS)

sanitize-gpu: build  ## run the tiny model on a GPU under compute-sanitizer's memcheck and racecheck
	compute-sanitizer --tool memcheck --error-exitcode 1 $(BUILD)/bin/session_test \
	  --gtest_filter='*OnGpu.Float32/kf1:*OnGpu.Bfloat16*/kf3:*OnGpu.Float16/short'
	compute-sanitizer --tool racecheck --error-exitcode 1 $(BUILD)/bin/session_test \
	  --gtest_filter='*OnGpu.Float32/short:*OnGpu.Bfloat16/short'

demo: build  ## render a generated room, reconstruct it on the CPU, show the result beside the truth
	scripts/demo.sh $(PROGRAM) $(DEMO)

bench: build  ## run the benchmarks at a small size; BENCH_MODEL= for the official one
	$(PROGRAM) bench frames --depth 72,1000 $(BENCH_MODEL)
	$(PROGRAM) bench memory --frames 3000 --keyframe_interval 1,32 $(BENCH_MODEL)
	$(PROGRAM) bench ops $(BENCH_MODEL)

format:  ## format the sources in place
	$(CXX_FILES) | xargs $(CLANG_FORMAT) -i

check-format:  ## fail if a source is not formatted
	$(CXX_FILES) | xargs $(CLANG_FORMAT) --dry-run -Werror

lint: build  ## clang-tidy
	run-clang-tidy -quiet -p $(BUILD) -j $(JOBS) '^$(CURDIR)/(src|tools|examples)/'

install: build  ## install library, headers and program under PREFIX
	cmake --install $(BUILD) --prefix $(PREFIX)
