package tamper

import (
	"path"
	"strings"

	"github.com/runplan/runplan/gates"
)

// isTest reports whether a file is one of the tests: of their code, or what they are made of.
func isTest(p string) bool { return language(p) != "" }

// The languages that tests are read in. "other" are files of tests that nobody here can read.
const (
	langGo     = "go"
	langPython = "python"
	langNode   = "node"
	langBats   = "bats"
	langShell  = "shell"
	langScript = "testscript"
	langRust   = "rust"
	langJava   = "java"
	langOther  = "other"
)

// language says which tests a file holds; "" if it is no file of tests. Where a runner does not look, there are none:
// a test that is moved there is gone.
func language(p string) string {
	base, ext := path.Base(p), path.Ext(p)
	dirs := strings.Split(path.Dir(p), "/")
	inTests, inData := false, false
	for _, d := range dirs {
		switch d {
		case "tests", "test", "__tests__", "spec", "specs", "e2e", "testing":
			inTests = true
		case "testdata", "fixtures", "__fixtures__":
			inData = true
		case "node_modules", "vendor", "site-packages":
			return ""
		}
	}
	if ext == ".txtar" {
		return langScript
	}
	if inData {
		return ""
	}
	stem := strings.TrimSuffix(base, ext)
	switch ext {
	case ".go":
		for _, d := range dirs {
			if strings.HasPrefix(d, "_") || strings.HasPrefix(d, ".") && d != "." {
				return ""
			}
		}
		if strings.HasSuffix(stem, "_test") && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, ".") {
			return langGo
		}
	case ".py":
		if strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "conftest" || stem == "tests" ||
			stem == "sitecustomize" || stem == "usercustomize" || inTests {
			return langPython
		}
	case ".js", ".ts", ".jsx", ".tsx", ".mjs", ".cjs", ".mts", ".cts":
		if hasAny(stem, ".test", ".spec", "-test", "_test", ".cy", ".e2e") || strings.HasPrefix(stem, "test-") || stem == "test" || inTests {
			return langNode
		}
	case ".bats":
		return langBats
	case ".sh", ".bash":
		if strings.HasPrefix(stem, "test-") || strings.HasPrefix(stem, "test_") || hasAny(stem, "-test", "_test") || stem == "run-all-tests" || inTests {
			return langShell
		}
	case ".rs":
		if inTests || strings.HasSuffix(stem, "_test") || stem == "tests" {
			return langRust
		}
	case ".java", ".kt":
		if inTests || strings.HasSuffix(stem, "Test") || strings.HasSuffix(stem, "Tests") || strings.HasSuffix(stem, "IT") {
			return langJava
		}
	case ".rb", ".php", ".cs", ".swift", ".c", ".cc", ".cpp", ".ex", ".exs", ".scala":
		if inTests || hasAny(stem, "_test", "_spec", "Test", "Tests", "Spec") {
			return langOther
		}
	}
	return ""
}

func hasAny(s string, ends ...string) bool {
	for _, e := range ends {
		if strings.HasSuffix(s, e) {
			return true
		}
	}
	return false
}

// isSnapshot reports whether a file is a recorded answer that tests compare with.
func isSnapshot(p string) bool {
	return gates.Match([]string{
		"*.snap", "*.ambr", "*.golden", "*.golden.*", "*.approved.*", "*.received.*", "*.snapshot", "**/__snapshots__/**", "**/__image_snapshots__/**",
		"**/golden/**", "**/goldens/**", "**/{tests,test,testdata}/**/snapshots/**", "**/testdata/**/*.{want,expected}",
	}, p)
}

// The kinds of files that decide what is checked.
const (
	kindCI      = "ci"
	kindRunplan = "runplan"
	kindGates   = "gates"
)

// kindOf says what a file decides, "" if nothing. Files that hold other things too are not among them, see [mixed].
func kindOf(p string) string {
	switch {
	case p == ".worktreeinclude" || strings.HasPrefix(p, ".runplan/") || strings.Contains(p, "/.runplan/"):
		return kindRunplan
	case gates.Match(ciFiles(), p):
		return kindCI
	case family(p) != "":
		return kindGates
	}
	return ""
}

func ciFiles() []string {
	return []string{
		".github/workflows/**", ".github/actions/**", ".github/CODEOWNERS", "CODEOWNERS", ".gitlab-ci.yml", ".gitlab-ci.yaml", ".gitlab-ci/**",
		".gitlab/ci/**", ".circleci/**", "Jenkinsfile", "Jenkinsfile.*", "azure-pipelines*.yml", "azure-pipelines*.yaml", ".azure-pipelines/**",
		".travis.yml", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml", ".woodpecker/**",
		".buildkite/**", ".cirrus.yml", "cloudbuild.y*ml", ".ci/**", ".teamcity/**", ".forgejo/workflows/**", ".gitea/workflows/**",
	}
}

// families are the files that one tool reads its settings from.
func families() map[string][]string {
	return map[string][]string{
		"golangci":   {".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"},
		"staticchk":  {"staticcheck.conf"},
		"ruff":       {"ruff.toml", ".ruff.toml"},
		"flake8":     {".flake8"},
		"pylint":     {".pylintrc", "pylintrc", ".pylintrc.toml"},
		"pytest":     {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"},
		"mypy":       {"mypy.ini", ".mypy.ini"},
		"pyright":    {"pyrightconfig.json"},
		"nox":        {"noxfile.py"},
		"coverage":   {".coveragerc", "codecov.yml", ".codecov.yml", "codecov.yaml", ".codecov.yaml", ".nycrc", ".nycrc.*", ".c8rc*", ".coveralls.yml"},
		"eslint":     {".eslintrc", ".eslintrc.*", "eslint.config.*", ".eslintignore", ".oxlintrc.json"},
		"biome":      {"biome.json", "biome.jsonc"},
		"prettier":   {".prettierrc", ".prettierrc.*", "prettier.config.*", ".prettierignore"},
		"jest":       {"jest.config.*", "jest.setup.*", "jest-setup.*"},
		"vitest":     {"vitest.config.*", "vitest.workspace.*", "vitest.setup.*"},
		"mocha":      {".mocharc.*", ".mocharc"},
		"karma":      {"karma.conf.*"},
		"playwright": {"playwright.config.*", "cypress.config.*", "cypress.json"},
		"shellcheck": {".shellcheckrc", "shellcheckrc"},
		"clippy":     {"clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml", "deny.toml"},
		"ast-grep":   {"sgconfig.yml", "sgconfig.yaml"},
		"hooks":      {".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", ".lefthook.yml", ".husky/**", ".lintstagedrc*"},
		"semgrep":    {".semgrep.yml", ".semgrep.yaml", ".semgrep/**", ".semgrepignore", ".gitleaks.toml", ".gitleaksignore", ".trivyignore", ".secrets.baseline"},
		"sonar":      {"sonar-project.properties"},
	}
}

func family(p string) string {
	for name, globs := range families() {
		if gates.Match(globs, p) {
			return name
		}
	}
	return ""
}

// mixed reports whether a file holds settings of gates among other things.
func mixed(p string) bool { return reader(p) != nil }
