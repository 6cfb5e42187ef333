package trust

import (
	"strconv"
	"strings"
)

// Words shows the arguments of a command so that no two lists look alike: one that is not a plain word is quoted.
func Words(args []string) string {
	out := make([]string, len(args))
	for i, a := range args {
		out[i] = a
		if a == "" || strings.ContainsFunc(a, func(r rune) bool { return r <= ' ' || r == '"' || r == '\'' || r == '\\' || r > '~' }) {
			out[i] = strconv.Quote(a)
		}
	}
	return strings.Join(out, " ")
}
