package trust

import (
	"strconv"
	"strings"
)

// Words formats the arguments of a command unambiguously. It quotes arguments that are not plain words.
func Words(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a,
			func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r > '~' }) {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}
