// Package reporters holds the small programs that test runners load to report each test by name: one JSON object a
// line, as [github.com/runplan/runplan/gates/testout.Lines] reads them.
package reporters

import "embed"

// Files holds the reporters: node.mjs, mocha.cjs, unittest.py, minitest.rb and rspec.rb; and pytest_lines.py, which
// reports the lines that tests run.
//
//go:embed node.mjs mocha.cjs unittest.py minitest.rb rspec.rb pytest_lines.py
var Files embed.FS
