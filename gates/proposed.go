package gates

import (
	"path/filepath"
	"regexp"
	"strings"

	"github.com/runplan/runplan/internal/glob"
)

// unsupported lists files of build tools and tests that no gate runs by itself, and the commands that run them.
var unsupported = []struct{ files, says, command string }{
	{"composer.json", `"test"\s*:`, "composer test"},
	{"composer.json", `"pestphp/pest"`, "vendor/bin/pest"},
	{"composer.json", `"phpunit/phpunit"`, "vendor/bin/phpunit"},
	{"phpunit.xml phpunit.xml.dist phpunit.dist.xml", "", "phpunit"},
	{"mix.exs", "", "mix test"},
	{"rebar.config", "", "rebar3 eunit"},
	{"deno.json deno.jsonc", "", "deno test"},
	{"pubspec.yaml", `\bsdk:\s*flutter`, "flutter test"},
	{"pubspec.yaml", "", "dart test"},
	{"CMakeLists.txt", `(?i)enable_testing|include\s*\(\s*CTest`,
		"cmake -S . -B build && cmake --build build && ctest --test-dir build --output-on-failure"},
	{"meson.build", `\btest\s*\(`, "meson setup build && meson test -C build --print-errorlogs"},
	{"build.zig", "", "zig build test"},
	{"build.sbt", "", "sbt test"},
	{"stack.yaml", "", "stack test"},
	{"*.cabal", "", "cabal test"},
	{"*_test.go", "", "GO111MODULE=off go test ./..."}, // a folder with a go.mod has a suite
	{"t/*.t Makefile.PL Build.PL cpanfile dist.ini", "", "prove -lr t"},
	{".busted spec/*_spec.lua *.rockspec", "", "busted"},
	{"dune-project", "", "dune test"},
	{"project.clj", "", "lein test"},
	{"MODULE.bazel WORKSPACE WORKSPACE.bazel", "", "bazel test //..."},
	{"GNUmakefile makefile Makefile configure.ac", `(?m)^check\s*:|AM_INIT_AUTOMAKE`, "make check"},
	{"DESCRIPTION", `\btestthat\b`, "Rscript -e 'testthat::test_local()'"},
	{"Project.toml", `(?m)^uuid\b`, "julia --project -e 'using Pkg; Pkg.test()'"},
	{"gleam.toml", "", "gleam test"},
	{"shard.yml", "", "crystal spec"},
	{"*.nimble", "", "nimble test"},
	{"v.mod", "", "v test ."},
	{"dub.json dub.sdl", "", "dub test"},
	{"foundry.toml", "", "forge test"},
	{"build.mill build.sc", "", "mill __.test"},
	{"build.xml", `<target\s[^>]*name="test"`, "ant test"},
	{"package.json", `"test:unit"\s*:`, "npm run test:unit"},
	{"justfile Justfile", `(?m)^@?test\b`, "just test"},
	{"Taskfile.yml Taskfile.yaml Taskfile.dist.yml Taskfile.dist.yaml", `(?m)^\s+test:`, "task test"},
	{"mise.toml .mise.toml", `(?m)^\[tasks\.test\]|^test\s*=`, "mise run test"},
	{"magefile.go", `(?mi)^func test\(`, "mage test"},
	{"noxfile.py", "", "nox"},
	{"tox.ini", "", "tox"},
	{"tasks.py", `(?m)^def test\b`, "invoke test"},
}

// ProposedTests returns a command that probably runs the tests of the tree in dir, and the file that suggests it. It is
// for trees without a gate for tests: a person can configure the command.
func ProposedTests(dir string) (file, command string) {
	for _, u := range unsupported {
		for pattern := range strings.FieldsSeq(u.files) {
			for _, file := range glob.Below(dir, pattern) {
				if file, err := filepath.Rel(dir, file); err == nil &&
					regexp.MustCompile(u.says).MatchString(readText(dir, ".", file)) {
					return filepath.ToSlash(file), u.command
				}
			}
		}
	}
	return "", ""
}

// proposal is the advice for a tree without a gate for tests, "" if no command is known.
func proposal(dir string) string {
	file, command := ProposedTests(dir)
	if file == "" {
		return ""
	}
	return "; to run the tests of " + file + ", add a gate named tests: " + command
}
