package testscripts

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// allCommands returns the commands of this package's scripts.
func allCommands() map[string]func(*testscript.TestScript, bool, []string) {
	all := Commands()
	maps.Copy(all, documentCommands())
	maps.Copy(all, ollamaCommands())
	maps.Copy(all, rowsCommands())
	maps.Copy(all, adapterCommands())
	maps.Copy(all, lineCommands())
	maps.Copy(all, httpCommands())
	maps.Copy(all, listenCommands())
	return all
}

// documentCommands returns the commands for documents and for large files.
func documentCommands() map[string]func(*testscript.TestScript, bool, []string) {
	return map[string]func(*testscript.TestScript, bool, []string){
		// bytes FILE SIZE [KIND]: create a large file with content of KIND: zero, text (lines) or binary.
		"bytes": cmdBytes,
		// blocks DOCUMENT NAME: write the blocks of a document that name this script to block1.sh and so on.
		"blocks": cmdBlocks,
	}
}

func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: bytes FILE SIZE [zero|text|binary]")
	}
	size, err := strconv.Atoi(args[1])
	ts.Check(err)
	unit := "\x00"
	switch strings.Join(args[2:], "") {
	case "text":
		unit = "a line of text that is forty bytes long\n"
	case "binary":
		unit = "\x7fELF\x00\x01\xfe\xff\r\n\x80"
	}
	data := bytes.Repeat([]byte(unit), size/len(unit)+1)[:size]
	path := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(path), 0o755))
	ts.Check(os.WriteFile(path, data, 0o644))
}
