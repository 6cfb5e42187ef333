// Command notice writes NOTICE: the modules that are linked into runplan, with their versions and licenses. It fails if
// it does not recognize the license text of a module, because runplan must not be distributed with such a module.
//
// Usage: go run ./tools/notice > NOTICE
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

const head = `runplan
Copyright 2026 The runplan authors

This product is licensed under the Apache License, Version 2.0; see LICENSE.

The program contains the Go standard library (BSD-3-Clause) and the modules below. Each module's license text is in its
source, which "go mod download" fetches.

`

func main() {
	notice, err := write("./cmd/runplan")
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
	fmt.Print(notice)
}

// write returns the text of NOTICE for the programs in packages. The modules are those of all systems that runplan is
// built for, so that the text does not depend on where it is written.
func write(packages ...string) (string, error) {
	var lines []string
	for _, system := range []string{"linux", "darwin", "windows"} {
		format := "{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}"
		cmd := exec.Command("go", append([]string{"list", "-deps", "-f", format}, packages...)...)
		cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64", "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("list the modules for %s: %w", system, err)
		}
		lines = append(lines, strings.Split(strings.TrimSpace(string(out)), "\n")...)
	}
	slices.Sort(lines)
	text, failed := head, []error(nil)
	for _, line := range slices.Compact(lines) {
		path, rest, ok := strings.Cut(line, " ")
		if !ok {
			continue // a package of the standard library or of runplan
		}
		version, dir, _ := strings.Cut(rest, " ")
		license, err := licenseOf(dir)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", path, err))
		}
		text += fmt.Sprintf("%s %s: %s\n", path, version, license)
	}
	return text, errors.Join(failed...)
}

// licenseOf returns the SPDX identifiers of the license files in the folder of a module.
func licenseOf(dir string) (string, error) {
	var found []string
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	for _, entry := range entries {
		name := strings.ToLower(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", err
		}
		for _, match := range licensecheck.Scan(data).Match {
			found = append(found, match.ID)
		}
	}
	slices.Sort(found)
	found = slices.Compact(found)
	if len(found) == 0 {
		return "", fmt.Errorf("no license was recognized in %s", dir)
	}
	return strings.Join(found, ", "), nil
}
