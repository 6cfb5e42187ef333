# make help lists the targets. Nothing but Go, git and bash is needed.

GO       ?= go
BIN      := bin/runplan
FUZZTIME ?= 20s
N        ?= 200
MUTANTS  ?= 300
MUTATE   ?=
SEED     ?= 1
BENCH    ?=
STORM    ?=
ATTACK   ?=
HISTORIES ?=
PRECISION ?=
RETRIEVAL ?=
SELECTION ?=
TABLE    ?=
MUTATION ?=
VERSION  ?=
DIST     ?=
CROSS    ?= linux/arm64 darwin/arm64 darwin/amd64 windows/amd64

export CGO_ENABLED ?= 0

# All targets compile with the same flags, so they use the same build cache.
export GOFLAGS := $(strip $(filter-out -trimpath,$(GOFLAGS)) -trimpath)

# Go keeps its caches under HOME. Without one there would be no build at all.
ifeq ($(HOME),)
export HOME := $(or $(TMPDIR),/tmp)/runplan-home
endif

TEMPORAL := GOTOOLCHAIN=local $(GO)

.PHONY: lines mutants help tools build cross test lint vet fmt generate fresh check demo recording site corpus fuzz storm attack precision bench retrieval selection weakened mutation dist test-temporal storm-temporal bench-temporal ollama browser agents-smoke screenshots clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/\1\t\2/' | while IFS="$$(printf '\t')" read -r name what; do printf '  %-13s %s\n' "$$name" "$$what"; done

build: ## build bin/runplan
	$(GO) build -ldflags=-w -o $(BIN) ./cmd/runplan

cross: ## check that all packages and tests compile on other systems, which runs none of it; CROSS="windows/amd64 ..."
	$(GO) run ./tools/cross $(CROSS)

# Lint vets all packages, so the tests do not vet them again. With GOGC=400 the compiler uses a third less CPU time, and
# the tests and the programs that they start a tenth; it needs 1 GB for the largest package.
test: ## run all tests
	TMPDIR="$$(bash .ci/tmp)" GOGC="$${GOGC:-400}" $(GO) test -vet=off -timeout 30m ./...
	@bash testscripts/ollama/build.sh -where >/dev/null || echo "the tests against the real Ollama server were SKIPPED, all others passed" >&2

fmt: ## format all Go files
	gofmt -w $$(git ls-files -co --exclude-standard '*.go')

lines: ## break the lines of Go files that are longer than 120 columns
	git ls-files '*.go' | grep -v testdata/ | xargs $(GO) run ./tools/reflow

vet: ## gofmt and go vet, which need no download
	@bad="$$(gofmt -l $$(git ls-files -co --exclude-standard '*.go' | while read -r f; do [ -f "$$f" ] && echo "$$f"; done))"; \
	if [ -n "$$bad" ]; then echo "not formatted, run make fmt:"; echo "$$bad"; exit 1; fi
	$(GO) vet ./...

tools: ## install the optional programs that tests use into bin/tools: ast-grep, and jest, vitest and mocha where there is npm
	bash patterns/install-ast-grep.sh
	@if command -v npm >/dev/null; then npm install --silent --no-audit --no-fund --prefix bin/tools/js jest@29.7.0 vitest@3.2.7 mocha@11.7.5; fi

dist: ## build the files of a release into dist/; VERSION=v0.2.0, DIST="-targets linux/amd64"
	$(GO) run ./tools/dist -version "$(VERSION)" $(DIST)

ollama: ## build the Ollama server that tests use, into a cache outside of the clone: once, three minutes of CPU
	@bash testscripts/ollama/build.sh

browser: ## install Chromium for the tests of the page, where there is none: once, from Debian's packages
	bash testscripts/browser/install.sh

lint: vet ## vet, then staticcheck (downloaded by Go on first use)
	$(GO) tool -modfile=tools.mod staticcheck ./...

GENERATED := docs/cli.md docs/rules.md docs/packages.md docs/ARCHITECTURE.md NOTICE

generate: build ## write what is generated from the code: docs/cli.md, rules.md, packages.md, the picture of the imports, NOTICE
	@mkdir -p docs
	./$(BIN) docs docs/cli.md docs/rules.md
	$(GO) run ./tools/packages
	@notice="$$($(GO) run ./tools/notice)" && printf '%s\n' "$$notice" >NOTICE

fresh: ## fail where a generated file is not what the code generates
	@mkdir -p bin/before docs; touch $(GENERATED); cp $(GENERATED) bin/before
	@$(MAKE) --no-print-directory generate
	@for f in $(GENERATED); do cmp -s $$f bin/before/$${f##*/} || { \
		echo "$$f was out of date and has been generated again; review the change and commit it"; exit 1; }; done

check: fresh lint test ## generated files are fresh, lint, test

demo: build ## watch a run of a small project, as "runplan demo" shows it
	@./$(BIN) demo

recording: build ## record the demonstration as docs/demo.svg; it needs tmux
	LANG=C.UTF-8 $(GO) run ./tools/record -out docs/demo.svg ./$(BIN) demo --keep=false

site: ## render docs as a static site into dist/site
	$(GO) run ./tools/site -out dist/site

corpus: ## score of the parser, and of the choice of the mode, over the plans of the corpus; CORPUS=dir for another one
	@$(GO) test -count=1 -run '^TestCorpus$$' -v ./planparse
	@$(GO) test -count=1 -run '^TestDecideNamesFasterMode$$' -v ./routing

fuzz: ## run each fuzz target for FUZZTIME
	@bash .ci/fuzz $(FUZZTIME)

storm: ## kill runs N times at random moments and look what is left; N=200 SEED=1 STORM="-mode team"
	$(GO) run ./tools/storm -kills $(N) -seed $(SEED) $(STORM)

attack: ## run cheating and honest agents and count which changes were merged; ATTACK=-short, ATTACK="-run go_ -v"
	$(GO) run ./tools/attack $(ATTACK)

precision: ## run the static rules over commits of HISTORIES=folders and count what they say; PRECISION="-n 40 -open"
	$(GO) run ./tools/precision -histories "$(HISTORIES)" $(PRECISION)

mutants: ## make wrong versions of the core and count how many the tests notice; MUTANTS=300, MUTATE="-seed 2 -workers 2"
	$(GO) run ./tools/mutate -n $(MUTANTS) -bar 85 $(MUTATE) ./runner ./planparse ./gates ./routing ./sampling ./internal/edit

test-temporal: ## test the engine for several machines, with a Temporal server that is built for it (minutes the first time)
	@! $(GO) list -deps ./cmd/runplan | grep -q '^go.temporal.io/' || { echo "cmd/runplan links Temporal"; exit 1; }
	cd temporal && $(TEMPORAL) vet ./... && $(TEMPORAL) test -vet=off ./...
	cd temporal/deploy && $(TEMPORAL) vet ./... && $(TEMPORAL) test ./...
	cd temporal/servertest && $(TEMPORAL) vet ./... && $(TEMPORAL) test -vet=off -timeout 30m -count=1 ./...

storm-temporal: ## kill, freeze and cancel on two workers and a Temporal server, and print what became of it
	cd temporal/servertest && $(TEMPORAL) test -vet=off -timeout 20m -count=1 -run '^TestStorm$$' -v .

bench-temporal: ## what a batch costs that does nothing, on this machine alone and on Temporal, and where the time goes; N=200 batches
	cd temporal/servertest && $(TEMPORAL) test -vet=off -timeout 70m -count=1 -run '^TestOverhead$$' -v . -noops $(N)

agents-smoke: ## run the real CLIs that npm has, installed outside of the clone, against a model server on this machine
	@bash testscripts/agentsmoke/run.sh

.PHONY: captures first-success
captures: build ## capture the main commands on terminals of three sizes, with tmux, into docs/terminal
	@mkdir -p docs/terminal
	tools/captures/captures.sh bin/runplan docs/terminal

first-success: build ## run real repositories with the commands of the README and a scripted agent; TABLE=file, as firstrun.sh describes it
	tools/firstrun/firstrun.sh bin/runplan $(TABLE)

screenshots: ## make the screenshots of docs, with Chromium
	@mkdir -p docs/screenshots
	$(GO) test -count=1 -run '^TestScreenshots$$' ./testscripts/browser -screenshots "$(CURDIR)/docs/screenshots"

retrieval: ## measure what retrieval finds of real commits; HISTORIES=folder,… of bundles and bare repositories, RETRIEVAL="-each 20 -v"
	@test -n "$(HISTORIES)" || { echo "give HISTORIES=folder: git bundles, bare repositories or checkouts"; exit 2; }
	$(GO) run ./tools/retrieval -from "$(HISTORIES)" $(RETRIEVAL)

selection: ## measure how tournaments choose among versions of real fixes; HISTORIES=folder,… SELECTION="-each 20 -v"
	@test -n "$(HISTORIES)" || { echo "give HISTORIES=folder: git bundles, bare repositories or checkouts"; exit 2; }
	$(GO) run ./tools/selection -from "$(HISTORIES)" $(SELECTION)

weakened: build ## measure how many weakened tests are told; WEAKENED="-only clamp -budget 30s"
	PATH=$$PATH:$(CURDIR)/bin/tools $(GO) run ./tools/weakened $(WEAKENED)

mutation: ## compare mutants with other programs on files of TABLE=file, from HISTORIES=folder,…; MUTATION="-cap 2m -only NAME"
	PATH=$$PATH:$(CURDIR)/bin/tools $(GO) run ./tools/mutation -histories "$(HISTORIES)" -table "$(TABLE)" $(MUTATION)

examples: ## measure examples made of histories; EXAMPLES="-leak folder…" guesses where the edit is, "-draw 100 folder…" draws some to judge
	$(GO) run ./tools/examples $(EXAMPLES)

bench: ## measure against the floor on this machine; BENCH=-quick for a short one, BENCH="-only team" for one part
	$(GO) run ./tools/bench $(BENCH)

clean: ## remove what was built
	rm -rf bin dist
