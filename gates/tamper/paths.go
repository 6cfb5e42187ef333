package tamper

import (
	"strings"

	"github.com/runplan/runplan/gates"
)

// isSnapshot reports whether a file is a recorded answer that tests compare with.
func isSnapshot(p string) bool {
	return gates.Match([]string{
		"*.snap", "*.ambr", "*.golden", "*.golden.*", "*.approved.*", "*.received.*", "*.snapshot", "**/__snapshots__/**",
		"**/__image_snapshots__/**",
		"**/golden/**", "**/goldens/**", "**/{tests,test,testdata}/**/snapshots/**", "**/testdata/**/*.{want,expected}",
	}, p)
}

// The kinds of files that control checks.
const (
	kindCI      = "ci"
	kindRunplan = "runplan"
	kindGates   = "gates"
)

// kindOf returns the kind of a file, "" if it controls no check. It does not cover shared files, see [mixed].
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
		".github/workflows/**", ".github/actions/**", ".github/CODEOWNERS", "CODEOWNERS", ".gitlab-ci.yml", ".gitlab-ci.yaml",
		".gitlab-ci/**",
		".gitlab/ci/**", ".circleci/**", "Jenkinsfile", "Jenkinsfile.*", "azure-pipelines*.yml", "azure-pipelines*.yaml",
		".azure-pipelines/**",
		".travis.yml", "appveyor.yml", ".appveyor.yml", "bitbucket-pipelines.yml", ".drone.yml", ".woodpecker.yml",
		".woodpecker/**",
		".buildkite/**", ".cirrus.yml", "cloudbuild.y*ml", ".ci/**", ".teamcity/**", ".forgejo/workflows/**",
		".gitea/workflows/**",
	}
}

// families returns the files that one tool reads its settings from.
func families() map[string][]string {
	return map[string][]string{
		"golangci":  {".golangci.yml", ".golangci.yaml", ".golangci.toml", ".golangci.json"},
		"staticchk": {"staticcheck.conf"},
		"ruff":      {"ruff.toml", ".ruff.toml"},
		"flake8":    {".flake8"},
		"pylint":    {".pylintrc", "pylintrc", ".pylintrc.toml"},
		"pytest":    {"pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"},
		"mypy":      {"mypy.ini", ".mypy.ini"},
		"pyright":   {"pyrightconfig.json"},
		"nox":       {"noxfile.py"},
		"coverage": {".coveragerc", "codecov.yml", ".codecov.yml", "codecov.yaml", ".codecov.yaml", ".nycrc", ".nycrc.*",
			".c8rc*", ".coveralls.yml"},
		"eslint":     {".eslintrc", ".eslintrc.*", "eslint.config.*", ".eslintignore", ".oxlintrc.json"},
		"biome":      {"biome.json", "biome.jsonc", ".biome.json", ".biome.jsonc"},
		"prettier":   {".prettierrc", ".prettierrc.*", "prettier.config.*", ".prettierignore"},
		"jest":       {"jest.config.*", "jest.setup.*", "jest-setup.*"},
		"vitest":     {"vitest.config.*", "vitest.workspace.*", "vitest.setup.*"},
		"mocha":      {".mocharc.*", ".mocharc"},
		"karma":      {"karma.conf.*"},
		"playwright": {"playwright.config.*", "cypress.config.*", "cypress.json"},
		"shellcheck": {".shellcheckrc", "shellcheckrc"},
		"clippy":     {"clippy.toml", ".clippy.toml", "rustfmt.toml", ".rustfmt.toml", "deny.toml"},
		"ast-grep":   {"sgconfig.yml", "sgconfig.yaml"},
		"hooks": {".pre-commit-config.yaml", ".pre-commit-config.yml", "lefthook.yml", ".lefthook.yml", ".husky/**",
			".lintstagedrc*"},
		"semgrep": {".semgrep.yml", ".semgrep.yaml", ".semgrep/**", ".semgrepignore", ".gitleaks.toml", ".gitleaksignore",
			".trivyignore", ".secrets.baseline"},
		"sonar":     {"sonar-project.properties"},
		"rubocop":   {".rubocop.yml", ".rubocop_todo.yml", ".standard.yml", ".simplecov"},
		"stylelint": {".stylelintrc", ".stylelintrc.*", "stylelint.config.*", ".stylelintignore"},
		"nextest":   {".config/nextest.toml"},
		"texts":     {".yamllint", ".yamllint.*", ".markdownlint.*", ".markdownlint-cli2.*", ".hadolint.y*ml"},
		"php":       {"phpstan.neon", "phpstan.neon.dist", "phpunit.xml", "phpunit.xml.dist"},
		"java":      {"checkstyle.xml", "detekt.yml", ".swiftlint.yml"},
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

// mixed reports whether a file contains settings of gates and other settings.
func mixed(p string) bool { return reader(p, nil) != nil }
