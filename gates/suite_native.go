package gates

import (
	"context"
	"path"
	"slices"
	"strings"
)

// swiftSuite runs `swift test` if the package has a folder of tests.
func swiftSuite(dir string, p Project) []suite {
	if !anyFile(dir, p, nil, func(rel, name string) bool {
		return strings.HasSuffix(name, ".swift") && (rel == "Tests" || strings.HasPrefix(rel, "Tests/"))
	}) {
		return nil
	}
	tool := onPathTool("swift", "", "https://swift.org/install")
	return []suite{called(p, []string{"swift", "test"}, tool, testRun{why: "runplan cannot plant tests for swift test"})}
}

// dotnetSuite runs `dotnet test` if one of the projects contains tests.
func dotnetSuite(dir string, p Project) []suite {
	if !anyFile(dir, p, nil, func(rel, name string) bool {
		ext := path.Ext(name)
		if ext != ".csproj" && ext != ".fsproj" && ext != ".vbproj" && name != "Directory.Packages.props" &&
			name != "Directory.Build.props" {
			return false
		}
		text := readText(dir, path.Join(p.Root, rel), name)
		return strings.Contains(text, "Microsoft.NET.Test.Sdk") || strings.Contains(text, "<IsTestProject>true") ||
			strings.Contains(text, "xunit") ||
			strings.Contains(text, "MSTest") || strings.Contains(text, "TUnit") || strings.Contains(text, "NUnit")
	}) {
		return nil
	}
	args := []string{"dotnet", "test", "--nologo", "-p:UseSharedCompilation=false"} // which would leave a server running
	if ext := path.Ext(p.Marker); ext == ".sln" || ext == ".slnx" {
		args = slices.Insert(args, 2, path.Base(p.Marker))
	}
	return []suite{called(p, args, dotnetTool(""), testRun{why: "runplan cannot plant tests for dotnet test"})}
}

// called returns a suite that is one call of a program with text output. r has the rest of the call.
func called(p Project, args []string, tool Tool, r testRun) suite {
	plan := func(context.Context, *Look) ([]testRun, error) {
		call := r
		call.program = program{args: slices.Clone(args), dir: p.Root}
		return []testRun{call}, nil
	}
	return suite{project: p, command: commandLine(p.Root, args), tools: []Tool{tool}, plan: plan}
}
