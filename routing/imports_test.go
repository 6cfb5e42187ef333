package routing

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Code waits for an earlier batch that creates a package it imports, however short the name of the folder is.
func TestImports(t *testing.T) {
	a := func(file string) string { return "A\n**Files:**\n- Create: `" + file + "`" }
	b := func(file, lang, code string) string {
		return "B\n**Files:**\n- Create: `" + file + "`\n\n```" + lang + "\n" + code + "\n```"
	}
	mod := "\n\n```\nmodule example.com/x\n\ngo 1.24\n```"
	for name, tt := range map[string]struct{ a, b, want string }{
		"Go, one segment, the module is known": {a("store/store.go") + mod,
			b("cmd/main.go", "go", "package main\n\nimport \"example.com/x/store\""),
			"1 -> 2 text: imports example.com/x/store (store), which B1 creates"},
		"Go, a group of imports": {a("store/store.go"),
			b("cmd/main.go", "go", "package main\n\nimport (\n\t\"fmt\"\n\tst \"example.com/x/store\" // it\n)"),
			"1 -> 2 text: imports example.com/x/store (store), which B1 creates"},
		"Go, a module of another name": {a("store/store.go") + mod, b("cmd/main.go", "go", "import \"example.com/y/store\""),
			""},
		"Go, the standard library": {a("http/http.go"), b("cmd/main.go", "go", "import (\n\t\"net/http\"\n)"), ""},
		"Go, a string is not an import": {a("store/store.go"),
			b("cmd/main.go", "go", "var x = []string{\n\t\"example.com/store\",\n}"), ""},
		"Go, in a module below": {"A\n**Files:**\n- Create: `svc/store/store.go`\n\n```file=svc/go.mod\nmodule " +
			"example.com/x\n```", b("svc/cmd/main.go", "go", "import \"example.com/x/store\""),
			"1 -> 2 text: svc/cmd/main.go is built with svc/go.mod, which B1 creates"},
		"Go, in a module of another folder": {"A\n**Files:**\n- Create: `svc/store/store.go`\n\n```file=svc/go.mod\nmodule " +
			"example.com/x\n```", b("cmd/main.go", "go", "import \"example.com/x/store\""),
			"1 -> 2 text: imports example.com/x/store (svc/store), which B1 creates"},
		"Go, the name is in a command": {a("store/store.go") + "\n\nRun: `go mod init x`",
			b("cmd/main.go", "go", "import \"x/store\""), "1 -> 2 text: imports x/store (store), which B1 creates"},
		"Go, prose": {a("store/store.go"),
			"B\n**Files:**\n- Create: `cmd/main.go`\n\nimport a store for each", ""},
		"Python, a package": {a("store/core.py"), b("app/main.py", "python", "from store import core"),
			"1 -> 2 text: names core (store/core.py), which B1 creates"},
		"Python, a folder": {a("store/core.py"), b("app/main.py", "python", "import store"),
			"1 -> 2 text: imports store, which B1 creates"},
		"Python, a short module": {a("app/db.py"), b("app/main.py", "python", "import os, db as d"),
			"1 -> 2 text: imports db (app/db.py), which B1 creates"},
		"Python, relative": {a("app/db.py"), b("app/main.py", "python", "from . import db"),
			"1 -> 2 text: imports db (app/db.py), which B1 creates"},
		"Python, relative with a name": {a("app/db.py"), b("app/main.py", "", "from .db import (get,"),
			"1 -> 2 text: imports db (app/db.py), which B1 creates"},
		"Python, in a patch": {a("app/db.py"), b("app/main.py", "diff", " import os\n+import db"),
			"1 -> 2 text: imports db (app/db.py), which B1 creates"},
		"Python, removed by a patch": {a("app/db.py"), b("app/main.py", "patch", " import os\n-import db"), ""},
		"Python, something else":     {a("other/db.py"), b("app/main.py", "python", "import db"), ""},
		"Python, a comment":          {a("app/db.py"), b("app/main.py", "python", "# import db"), ""},
		"JS, from": {a("web/db.js"), b("web/main.js", "js", "import { x } from \"./db\""),
			"1 -> 2 text: names db (web/db.js), which B1 creates"},
		"JS, two files have the name": {a("web/db.js") + "\n- Create: `cli/db.js`",
			b("web/main.js", "js", "import { x } from './db'"), "1 -> 2 text: imports ./db (web/db.js), which B1 creates"},
		"JS, require from further up": {a("web/db.ts") + "\n- Create: `cli/db.ts`",
			b("web/x/main.js", "js", "const d = require(\"../db.js\")"),
			"1 -> 2 text: imports ../db.js (web/db.ts), which B1 creates"},
		"JS, a package of another name": {a("web/db.js"), b("web/main.js", "js", "import d from \"db\""), ""},
		"Python, a file of JS":          {a("web/store.js"), b("cli/main.py", "python", "from store import x"), ""},
		"prose: read from store": {a("src/store.py"),
			"B\n**Files:**\n- Create: `x.py`\n\nRead from store and import store.", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, arrows(decided(t, batches(tt.a, tt.b), Options{}))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
