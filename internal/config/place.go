package config

import (
	"fmt"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// came records that keys came from a file with that text, and their lines.
func (l *Loaded) came(file string, text []byte, keys map[string]any) {
	for k := range keys {
		l.Sources[k] = file
	}
	if l.lines == nil {
		l.lines = map[string]map[string]int{}
	}
	l.lines[file] = linesOf(text)
}

// Where returns [Loaded.Source] with the line of the key, or of its table, for error messages.
func (l *Loaded) Where(key string) string {
	source := l.Source(key)
	for at := len(key); at > 0; at = strings.LastIndexByte(key[:at], '.') {
		if n := l.lines[source][key[:at]]; n > 0 {
			return fmt.Sprintf("%s:%d", source, n)
		}
	}
	return source
}

// linesOf returns the line of each key and each table in a file, by dotted key. It omits arrays of tables, whose
// tables have the same name.
func linesOf(text []byte) map[string]int {
	lines := map[string]int{}
	var p unstable.Parser
	p.Reset(text)
	table := ""
	for p.NextExpression() {
		e := p.Expression()
		var names []string
		line := 0
		for it := e.Key(); it.Next(); {
			names = append(names, string(it.Node().Data))
			line = p.Shape(it.Node().Raw).Start.Line
		}
		key := strings.Join(names, ".")
		switch e.Kind {
		case unstable.Table:
			table = key + "."
		case unstable.ArrayTable:
			table = "[]." // a name that is not a key
			continue
		case unstable.KeyValue:
			key = table + key
		}
		lines[key] = line
	}
	return lines
}
