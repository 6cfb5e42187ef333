package testscripts

import (
	"database/sql"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	_ "modernc.org/sqlite" // the suite looks into the files with its own eyes
)

// rowsCommands returns the commands that read SQLite files.
func rowsCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// rows FILE QUERY: print the result of a query on an SQLite file, one line per row, with | between columns;
		// NULL is printed as null, and a line end within a value as \n.
		"rows": cmdRows,
	}
}

func cmdRows(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: rows FILE QUERY")
	}
	db, err := sql.Open("sqlite", "file:"+ts.MkAbs(args[0])+"?mode=ro&_pragma=busy_timeout(10000)")
	ts.Check(err)
	defer db.Close()
	rows, err := db.Query(args[1])
	ts.Check(err)
	defer rows.Close()
	names, err := rows.Columns()
	ts.Check(err)
	for rows.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		ts.Check(rows.Scan(into...))
		cells := make([]string, len(values))
		for i, v := range values {
			switch v := v.(type) {
			case nil:
				cells[i] = "null"
			case []byte:
				cells[i] = string(v)
			default:
				cells[i] = fmt.Sprint(v)
			}
			cells[i] = strings.ReplaceAll(cells[i], "\n", `\n`)
		}
		fmt.Fprintln(ts.Stdout(), strings.Join(cells, "|"))
	}
	ts.Check(rows.Err())
}
