package gates

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ecosystems are small trees with the features that identify real projects: markers, settings, locations of tests.
var ecosystems = map[string]struct {
	files map[string]string
	want  []string // GATE: COMMAND, of linters, tests
	tools string   // that the gates ask for, in order
}{
	"Go": {
		map[string]string{"go.mod": "module m\n", "a.go": "package m\n", "a_test.go": "package m\n",
			".github/workflows/go.yml": "", "testdata/x.sh": ""},
		[]string{"lint:go: go vet ./...", "tests:go: go test -json -count=1 ./..."}, "go gofmt go",
	},
	"Go with golangci-lint": {
		map[string]string{
			"go.mod": "module m\n", "pkg/a.go": "package pkg\n", "pkg/a_test.go": "package pkg\n",
			".golangci.yml": "version: \"2\"\nlinters:\n  default: none\n",
			"Makefile":      "test:\n\tgo test ./...\n", "site/requirements.txt": "mkdocs\n", "vendor/x/go.mod": "module x\n",
		},
		[]string{
			"lint:go: go vet ./...",
			"lint:golangci-lint: golangci-lint run --fix=false --allow-parallel-runners --output.json.path=stdout " +
				"--output.text.path=stderr --show-stats=false",
			"tests:go: go test -json -count=1 ./...",
		}, "go gofmt golangci-lint go",
	},
	"Go workspace": {
		map[string]string{"go.work": "use (\n./a\n./b\n)\n", "a/go.mod": "module a\n", "a/a_test.go": "package a\n",
			"b/go.mod": "module b\n", "b/b.go": "package b\n"},
		[]string{"lint:go:a: go vet ./...", "lint:go:b: go vet ./...", "tests:go:a: cd a && go test -json -count=1 ./..."},
		"go gofmt go gofmt go",
	},
	"Python": {
		map[string]string{
			"pyproject.toml":    "[tool.pytest.ini_options]\nminversion = \"7\"\n[tool.ruff]\nline-length = 88\n",
			"src/m/__init__.py": "", "tests/test_a.py": "def test_a(): pass\n",
			"examples/one/pyproject.toml": "[project]\n", "examples/one/one.py": "", "docs/requirements.txt": "sphinx\n",
			"docs/conf.py": "",
		},
		[]string{"lint:python: ruff check .", "tests:python: python3 -m pytest"}, "ruff python3 pytest",
	},
	"TypeScript with biome in a pnpm workspace": {
		map[string]string{
			"package.json":        `{"private":true,"scripts":{"test":"vitest run","lint":"biome lint","lint:check":"biome lint --error-on-warnings","build":"pnpm -r build"},"devDependencies":{"@biomejs/biome":"1","vitest":"4"}}`,
			"pnpm-workspace.yaml": "packages: ['packages/*']\n", "pnpm-lock.yaml": "", "biome.jsonc": "{}",
			"packages/core/package.json": `{"scripts":{"test":"vitest"}}`, "packages/core/src/a.test.ts": "",
			"tsconfig.json": "{}",
		},
		[]string{"lint:biome: biome ci --reporter=github --colors=off --max-diagnostics=200 --no-errors-on-unmatched .",
			"tests:node: pnpm test"}, "biome node pnpm vitest",
	},
	"TypeScript with a lint script": {
		map[string]string{
			"package.json": `{"scripts":{"test":"xo && node --test","lint":"prettier --check . && tsc --noEmit"},"devDependencies":{"prettier":"3"}}`, "package-lock.json": "{}", "test/a.test.js": "",
		},
		[]string{"lint:node: npm run lint", "tests:node: npm test"}, "npm prettier node npm the packages of package.json",
	},
	"JavaScript whose lint script mends": {
		map[string]string{"package.json": `{"scripts":{"test":"node --test","lint":"eslint --fix ."}}`, "yarn.lock": "",
			"a.test.js": ""},
		[]string{"lint:node: ", "tests:node: yarn test"}, "node yarn",
	},
	"TypeScript with oxlint and eslint": {
		map[string]string{
			"package.json": `{"scripts":{"test":"jest","lint":"oxlint && eslint"},"devDependencies":{"jest":"29","oxlint":"1"}}`,
			"yarn.lock":    "", ".oxlintrc.json": "{}", "eslint.config.mjs": "", "src/a.test.ts": "",
		},
		[]string{"lint:node: eslint", "lint:oxlint: oxlint --format=github", "tests:node: yarn test"},
		"oxlint eslint node yarn jest",
	},
	"JavaScript with pages and examples that lint as the package does": {
		map[string]string{
			"package.json":     `{"scripts":{"test":"node --test","lint":"eslint ."},"devDependencies":{"eslint":"9"}}`,
			"eslint.config.js": "", "a.test.js": "", "docs/package.json": `{"devDependencies":{"vitest":"4"}}`,
			"examples/a/package.json": `{"devDependencies":{"vitest":"4"}}`, "examples/a/src/a.test.js": "",
			"examples/b/package.json": "{}", "examples/b/b.test.js": "import test from 'node:test';\n",
		},
		[]string{"lint:node: eslint", "tests:node: npm test", "tests:node:examples/a: cd examples/a && vitest run",
			"tests:node:examples/b: cd examples/b && node --test"},
		"eslint node npm the packages of package.json node vitest node",
	},
	"JavaScript with xo": {
		map[string]string{"package.json": `{"scripts":{"test":"xo && ava"},"devDependencies":{"ava":"6","xo":"1"}}`,
			"test.js": "import test from 'ava';\n"},
		[]string{"lint:xo: xo --reporter=json", "tests:node: npm test"}, "xo node npm the packages of package.json",
	},
	"JavaScript with bun": {
		map[string]string{"package.json": `{"scripts":{"test":"bun test"}}`, "bun.lock": "", "a.test.ts": ""},
		[]string{"lint:node: ", "tests:node: bun run test"}, "bun",
	},
	"Ruby with minitest and rubocop": {
		map[string]string{
			"Gemfile": "gemspec\n", "rack.gemspec": "",
			"Rakefile":     "require \"rake/testtask\"\nRake::TestTask.new(\"test:regular\")\ntask test: \"test:regular\"\n",
			".rubocop.yml": "", "lib/m.rb": "", "test/spec_m.rb": "require_relative 'helper'\ndescribe 'm' do\nend\n",
			"test/helper.rb": "require 'minitest/global_expectations/autorun'\n",
		},
		[]string{"lint:rubocop: rubocop --format json --force-exclusion --cache false", "tests:ruby: rake test"},
		"rubocop ruby rake",
	},
	"Ruby with RSpec": {
		map[string]string{"Gemfile": "gem 'rspec'\n", "Gemfile.lock": "rspec (3.12)\n", ".rspec": "--require spec_helper\n",
			"spec/a_spec.rb": "RSpec.describe('a') {}\n", "spec/spec_helper.rb": ""},
		[]string{"tests:ruby: bundle exec rspec"}, "ruby bundle",
	},
	"Ruby whose bundle has rubocop": {
		map[string]string{"Gemfile": "gem 'rake'\n", "Gemfile.lock": "GEM\n  specs:\n    rubocop (1.60.0)\n",
			".rubocop.yml": "plugins: rubocop-performance\n", "lib/m.rb": ""},
		[]string{"lint:rubocop: bundle exec rubocop --format json --force-exclusion --cache false", "tests: "}, "bundle",
	},
	"Rust": {
		map[string]string{"Cargo.toml": "[workspace]\nmembers = [\"a\"]\n", "Cargo.lock": "", "a/Cargo.toml": "[package]\n",
			"a/src/lib.rs": "", "tests/x.rs": ""},
		[]string{
			"lint:clippy: cargo clippy --all-targets --message-format=json --quiet --locked",
			"lint:rustfmt: cargo fmt --all --check -- -l", "tests:rust: cargo test --locked",
		}, "clippy rustfmt cargo",
	},
	"Java with Maven": {
		map[string]string{"pom.xml": "<project/>", "src/main/java/a/A.java": "", "src/test/java/a/ATest.java": ""},
		[]string{"tests:java: mvn -B test"}, "java mvn",
	},
	"Java with Maven and Spotless": {
		map[string]string{
			"pom.xml":   "<project><plugin><artifactId>spotless-maven-plugin</artifactId></plugin></project>",
			"a/pom.xml": "<project/>", "a/src/test/java/a/ATest.java": "",
		},
		[]string{"lint:spotless-maven: mvn -B spotless:check", "tests:java: mvn -B test"}, "java mvn java mvn",
	},
	"Java with Maven and Checkstyle": {
		map[string]string{"pom.xml": "<project><plugin><artifactId>maven-checkstyle-plugin</artifactId></plugin></project>",
			"src/test/java/a/ATest.java": ""},
		[]string{"lint:checkstyle: mvn -B checkstyle:check", "tests:java: mvn -B test"}, "java mvn java mvn",
	},
	"Java with Gradle whose own plugins set up Checkstyle": {
		map[string]string{"build.gradle.kts": "plugins { id(\"quality\") }\n", "src/test/java/a/ATest.java": "",
			"buildSrc/build.gradle.kts":                   "plugins { `kotlin-dsl` }\n",
			"buildSrc/src/main/kotlin/quality.gradle.kts": "plugins {\n    checkstyle\n}\n"},
		[]string{"lint:checkstyle-gradle: gradle checkstyleMain checkstyleTest --console=plain",
			"tests:java: gradle test --console=plain --no-build-cache"}, "java gradle java gradle",
	},
	"Java with Gradle and Checkstyle": {
		map[string]string{"build.gradle": "plugins {\n  id 'java'\n  id 'checkstyle'\n}\n", "gradlew!": "#!/bin/sh\n",
			"src/test/java/a/ATest.java": ""},
		[]string{"lint:checkstyle-gradle: gradlew checkstyleMain checkstyleTest --console=plain",
			"tests:java: ./gradlew test --console=plain --no-build-cache"}, "java gradlew java gradlew",
	},
	"Rust that reads JavaScript, with biome under its hidden name": {
		map[string]string{
			"Cargo.toml": "[package]\n", "src/lib.rs": "", "package.json": `{"private":true}`, ".biome.json": "{}",
			"pnpm-lock.yaml":                 "",
			"src/specs/lint/focused.test.js": "it.only('a', () => {});\n",
		},
		[]string{
			"lint:biome: biome ci --reporter=github --colors=off --max-diagnostics=200 --no-errors-on-unmatched .",
			"lint:clippy: cargo clippy --all-targets --message-format=json --quiet",
			"lint:rustfmt: cargo fmt --all --check -- -l", "tests:rust: cargo test",
		}, "biome clippy rustfmt cargo",
	},
	"Python whose documentation has settings to copy": {
		map[string]string{"pyproject.toml": "[tool.pytest.ini_options]\n", ".flake8": "[flake8]\n",
			"tests/test_a.py": "def test_a(): pass\n", "docs/configs/flake8/setup.cfg": "[flake8]\n",
			"docs/configs/flake8/tox.ini": "[flake8]\n"},
		[]string{"lint:python: flake8 .", "tests:python: python3 -m pytest"}, "flake8 python3 pytest",
	},
	"Kotlin for several platforms with Gradle": {
		map[string]string{
			"build.gradle": "plugins { alias(libs.plugins.spotless) }\n", "settings.gradle": "", "gradlew!": "#!/bin/sh\n",
			"gradle/libs.versions.toml":        "spotless = { id = \"com.diffplug.spotless\", version = \"6\" }\n",
			"src/commonTest/kotlin/a/ATest.kt": "", "src/commonMain/kotlin/a/A.kt": "",
		},
		[]string{"lint:spotless: gradlew spotlessCheck --console=plain", "tests:java: ./gradlew allTests --console=plain --no-build-cache"},
		"java gradlew java gradlew",
	},
	"Kotlin with ktlint": {
		map[string]string{
			"build.gradle.kts": "plugins { kotlin(\"jvm\") }\n",
			".editorconfig":    "[*.kt]\nktlint_code_style = ktlint_official\n", "src/test/kotlin/ATest.kt": "",
			"app/build.gradle.kts": "",
		},
		[]string{"lint:ktlint: ktlint --reporter=json --log-level=error", "tests:java: gradle test --console=plain --no-build-cache"},
		"java ktlint java gradle",
	},
	"Swift": {
		map[string]string{"Package.swift": "", "Sources/m/m.swift": "", "Tests/mTests/mTests.swift": "",
			".swift-format": "{}", ".swiftlint.yml": "", "Examples/e/Package.swift": ""},
		[]string{
			"lint:swiftlint: swiftlint lint --quiet --reporter json --no-cache",
			"lint:swift-format: swift-format lint --recursive .", "tests:swift: swift test",
		}, "swiftlint swift-format swift",
	},
	".NET": {
		map[string]string{
			"M.sln": "", "src/M/M.csproj": "<Project/>",
			"src/M.Tests/M.Tests.csproj": `<PackageReference Include="Microsoft.NET.Test.Sdk" />`,
			".editorconfig":              "[*.cs]\ndotnet_sort_system_directives_first = true\n",
			"docs/requirements_docs.txt": "",
			"docs/conf.py":               "",
		},
		[]string{
			"lint:dotnet-format: dotnet format --verify-no-changes --no-restore --verbosity minimal",
			"tests:dotnet: dotnet test M.sln --nologo -p:UseSharedCompilation=false",
		}, "dotnet dotnet",
	},
	"several languages": {
		map[string]string{
			"backend/go.mod": "module b\n", "backend/b_test.go": "package b\n",
			"frontend/package.json": `{"scripts":{"test":"vitest run"}}`, "frontend/package-lock.json": "{}",
			"frontend/eslint.config.js": "", "tools/py/pyproject.toml": "", "tools/py/tests/test_x.py": "import unittest\n",
		},
		[]string{
			"lint:go:backend: go vet ./...", "lint:node:frontend: eslint", "lint:python:tools/py: ruff or flake8",
			"tests:go:backend: cd backend && go test -json -count=1 ./...", "tests:node:frontend: cd frontend && npm test",
			"tests:python:tools/py: cd tools/py && python3 -m unittest",
		}, "go gofmt eslint ruff go node npm vitest python3",
	},
}

func TestDetectEcosystems(t *testing.T) {
	for name, c := range ecosystems {
		t.Run(name, func(t *testing.T) {
			dir := tree(t, c.files)
			var got, tools []string
			var infos []Info
			for _, g := range Builtin(dir, Settings{Detect: true}) {
				i := g.Info()
				got = append(got, i.Name+": "+i.Command)
				infos = append(infos, i)
				for _, t := range i.Tools {
					tools = append(tools, t.Name)
				}
			}
			slices.Sort(got)
			slices.Sort(c.want)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.tools, strings.Join(tools, " ")); d != "" {
				t.Error(d)
			}
			// If no tool is installed, each gate that needs one says how to install it.
			for i, r := range Examine(t.Context(), dir, []string{"PATH=" + t.TempDir()}, infos) {
				for _, s := range r.Tools {
					if s.Installed != (s.Name == "gradlew") || s.Install == "" != s.Installed {
						t.Errorf("%s: %+v", infos[i].Name, s)
					}
				}
				if len(r.Tools) > 0 && infos[i].Unset == "" && r.State != StateMissing {
					t.Errorf("%s is %s", infos[i].Name, r.State)
				}
			}
		})
	}
}

// A missing tool is reported with the install command that fits the files of the project.
func TestMissingPythonToolNamesInstallCommand(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		want  string
	}{
		"nothing":      {nil, "pip install ruff"},
		"requirements": {map[string]string{"requirements.txt": "# tests\nruff==0.12.1\n"}, "pip install -r requirements.txt"},
		"another name": {map[string]string{"requirements.txt": "ruff-lsp==1\n"}, "pip install ruff"},
		"a group": {map[string]string{"pyproject.toml": "[dependency-groups]\nlint = [\"ruff>=0.5\"]\n"},
			"pip install -e . --group lint"},
		"an extra": {map[string]string{"pyproject.toml": "[project.optional-dependencies]\ndev = ['ruff']\n"},
			"pip install -e '.[dev]'"},
		"uv": {map[string]string{"uv.lock": "", "pyproject.toml": "[dependency-groups]\ndev = [\"ruff\"]\n"}, "uv sync"},
		"uv and a group": {map[string]string{"uv.lock": "", "pyproject.toml": "[dependency-groups]\nlint = [\"ruff\"]\n"},
			"uv sync --group lint"},
		"poetry": {map[string]string{"poetry.lock": "",
			"pyproject.toml": "[tool.poetry.dev-dependencies]\nruff = \"^1\"\n"}, "poetry install"},
		"poetry without ruff": {map[string]string{"poetry.lock": "", "pyproject.toml": "[tool.ruff]\n"}, "pip install ruff"},
	} {
		if got := addsPython(tree(t, c.files), ".", "ruff"); got != c.want {
			t.Errorf("%s: %s, not %s", name, got, c.want)
		}
	}
}

// A tool is reported with its version, from the PATH, from node_modules or from a virtual environment. No program of
// the tree is run.
func TestToolVersions(t *testing.T) {
	bin := tree(t, map[string]string{"ruff!": "#!/bin/sh\necho ruff 0.5.1\n", "pnpm!": "#!/bin/sh\necho 10.12.1\n",
		"node!": "#!/bin/sh\necho v20.1.0\n", "cargo!": "#!/bin/sh\necho 'error: no such command: `clippy`' >&2; exit 101\n"})
	dir := tree(t, map[string]string{
		"package.json": `{"scripts":{"test":"vitest run"},"devDependencies":{"vitest":"4"}}`, "pnpm-lock.yaml": "",
		"biome.json":                       "{}",
		"node_modules/vitest/package.json": `{"name":"vitest","version":"4.1.5"}`,
		"node_modules/vitest/bin.js!":      "#!/bin/sh\ntouch ran\n",
		"node_modules/.bin/x":              "", "py/pyproject.toml": "[tool.ruff]\nline-length = 88\n",
		"py/.venv/bin/ruff!": "#!/bin/sh\ntouch ran\n",
		"py/.venv/lib/python3.11/site-packages/ruff-0.6.2.dist-info/METADATA": "", "py2/ruff.toml": "", "py2/setup.py": "",
		"Cargo.toml": "[package]\n",
	})
	if err := os.Symlink("../vitest/bin.js", dir+"/node_modules/.bin/vitest"); err != nil {
		t.Fatal(err)
	}
	var infos []Info
	for _, g := range Builtin(dir, Settings{Detect: true, Disable: []string{"lint:rustfmt"}}) {
		infos = append(infos, g.Info())
	}
	want := map[string]string{
		"lint:biome":     "missing biome is not installed (configured in biome.json): pnpm add --dev @biomejs/biome",
		"lint:python:py": "ok ruff 0.6.2", "lint:python:py2": "ok ruff 0.5.1",
		"tests:node":  "ok node 20.1.0, pnpm 10.12.1, vitest 4.1.5",
		"lint:clippy": "missing clippy is not installed: rustup component add clippy", "lint:rustfmt": "off",
	}
	got := map[string]string{}
	for i, r := range Examine(t.Context(), dir, []string{"PATH=" + bin + ":/usr/bin:/bin"}, infos) {
		var texts []string
		for _, s := range r.Tools {
			if s.Install != "" {
				texts = append(texts, s.String()+": "+s.Install)
			} else {
				texts = append(texts, s.String())
			}
		}
		if name := infos[i].Name; want[name] == "off" {
			got[name] = string(r.State)
		} else if want[name] != "" {
			got[name] = string(r.State) + " " + strings.Join(texts, ", ")
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, err := os.Stat(dir + "/ran"); err == nil {
		t.Error("a program of the repository was run")
	}
}
