# The targets that people and CI use. "make" alone lists them.
.DEFAULT_GOAL := help
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c

GOLANGCI_LINT_VERSION := v2.15.0
GOTESTSUM_VERSION := v1.13.0
BENCHSTAT_VERSION := v0.0.0-20260908200009-22c9c6c9d4da

# Every module of this repository, the root first: those within pull in what importers of the root do not need.
MODULES := . $(sort $(patsubst %/go.mod,%,$(shell find . -mindepth 2 -name go.mod -not -path '*/.*/*' -not -path '*/testdata/*' -not -path '*/node_modules/*')))

.PHONY: help
help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-20s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# A Postgres with pgvector for what needs one; silent where there is one.
.PHONY: postgres
postgres:
	@scripts/install-postgres.sh --if-needed

# What the tests start beside it, or have it load; silent where that is there.
.PHONY: test-servers
test-servers: postgres
	@scripts/install-pgbouncer.sh --if-needed
	@scripts/install-pg-cron.sh --if-needed

.PHONY: demo
demo: postgres ## Save a conversation and roll it back, store interests and find them, on a Postgres found or started for it.
	go run ./examples/insurance
	go run ./examples/interests

.PHONY: test
test: test-servers ## Run every test, in random order, with the race detector, on a real Postgres.
	@report=$$(mktemp); trap 'rm -f "$$report"' EXIT; \
	for module in $(MODULES); do \
		cd "$(CURDIR)/$$module"; \
		go run gotest.tools/gotestsum@$(GOTESTSUM_VERSION) --format pkgname-and-test-fails --jsonfile "$$report" \
			-- -race -shuffle=on -timeout 20m ./...; \
		"$(CURDIR)/scripts/check-tests-ran.sh" "$$report"; \
	done

.PHONY: test-docker
test-docker: ## Run the tests of the Docker backend, on an engine started and an image built for them.
	scripts/test-docker.sh

.PHONY: test-matrix
test-matrix: ## Run every test on each supported version of Postgres: 15 from this machine, 17 and 18 in containers.
	scripts/test-matrix.sh

.PHONY: interop-conformance
interop-conformance: postgres ## Run LangGraph's own conformance suite, and real graphs, against the Go saver.
	interop/python/conformance.sh official delta graph shared

.PHONY: interop-python
interop-python: postgres ## Run all of LangGraph's own Python against the Go saver and our tables, adoption included.
	interop/python/conformance.sh

.PHONY: docs-check
docs-check: test-servers ## Run every command and query in docs/, and compare what they print and the charts drawn from it.
	go test -count=1 ./docs

.PHONY: charts
charts: test-servers ## Write what the commands in docs/ print, and draw the charts of docs/analytics.md again.
	PGWEFT_UPDATE_DOCS=1 go test -count=1 ./docs

.PHONY: interop
interop: interop-python interop-js interop-psql ## Run LangGraph's own Python and JavaScript, and psql, against Go and the tables.

.PHONY: interop-js
interop-js: postgres ## Run LangGraph's own JavaScript and its official suite on our tables and functions.
	interop/js/interop.sh

.PHONY: interop-psql
interop-psql: postgres ## Run the conversation of the example by psql alone.
	interop/psql/interop.sh

.PHONY: bench
bench: postgres ## Measure the saver and the store beside a floor and what people use today, into docs/ (10 minutes); BENCH names cases, ARGS=--quick is a smoke test, and neither writes anything.
	go run ./bench/saver $(if $(BENCH),--case "$(BENCH)") $(or $(ARGS),$(if $(BENCH),,--out docs))

.PHONY: bench-go
bench-go: postgres ## Run the benchmarks of go test, COUNT times each (6), and compare them with bench/go/; BENCH names some, "." all.
	scripts/bench-go.sh $(BENCHSTAT_VERSION)

.PHONY: bench-store
bench-store: postgres ## Measure the search of the store beside LangGraph's query, into docs/; ARGS=--quick is a smoke test that writes nothing.
	go run ./bench/store $(or $(ARGS),--json docs/benchmarks-store.json --markdown docs/benchmarks-store.md)

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME, a time or a number of inputs as in 20000x (30s).
	scripts/fuzz.sh "$${FUZZTIME:-30s}"

.PHONY: generate
generate: ## Write what is generated: the functions migration and sql/schema.sql.
	go run ./migrations/generate --dump
	go -C otelweft run ./internal/combine

.PHONY: verify
verify: ## Check that what is generated is up to date, released migrations are unchanged, and modules are tidy.
	go run ./migrations/generate --check --dump
	go -C otelweft run ./internal/combine --check
	for module in $(MODULES); do go -C "$$module" mod tidy -diff; done

.PHONY: freeze
freeze: ## Release: list every migration in migrations.sum, after which none of them may change.
	go run ./migrations/generate --freeze

.PHONY: release-check
release-check: ## May this tree be released as VERSION (v0.1.0)? Checks it, and then runs everything that CI does.
	go run ./internal/releasecheck "$${VERSION:?say which version, as in make release-check VERSION=v0.1.0}"
	.ci/run

.PHONY: vectors
vectors: ## Make the golden vectors of serde and store again with the real Python library, and say whether they changed.
	serde/testdata/generate.sh --check
	store/testdata/generate.sh --check

.PHONY: vet
vet: ## Run go vet.
	for module in $(MODULES); do go -C "$$module" vet ./...; done

.PHONY: lint
lint: bin/golangci-lint-$(GOLANGCI_LINT_VERSION) ## Run the linters.
	for module in $(MODULES); do (cd "$$module" && "$(CURDIR)/$<" run ./...); done

bin/golangci-lint-$(GOLANGCI_LINT_VERSION):
	GOBIN="$(CURDIR)/bin" go install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	mv bin/golangci-lint $@
