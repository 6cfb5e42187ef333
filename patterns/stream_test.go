package patterns

import (
	"strings"
	"testing"
)

const oneRecord = `{"text":"catch {}","range":{"byteOffset":{"start":12,"end":20},"start":{"line":0,"column":12},"end":{"line":0,"column":20}},"file":"a.ts","lines":"try { a() } catch {}","charCount":{"leading":12,"trailing":0},"language":"TypeScript","metaVariables":{"single":{"A":{"text":"x","range":{}}},"multi":{"secondary":[]},"transformed":{}},"ruleId":"empty-catch","severity":"error","note":null,"message":"empty catch","labels":[]}`

func TestParseStream(t *testing.T) {
	all, err := parseStream([]byte(oneRecord + "\r\n\n" + oneRecord))
	if err != nil || len(all) != 2 || all[0].Range.Start.Column != 12 || all[0].capture("A") != "x" || all[0].Note != nil {
		t.Errorf("%+v, error %v", all, err)
	}
	for name, text := range map[string]string{
		"cut":      oneRecord[:len(oneRecord)-5],
		"text":     "no json",
		"array":    "[" + oneRecord + "]",
		"file":     `{"ruleId":"x"}`,
		"rule":     `{"file":"x"}`,
		"types":    `{"file":1,"ruleId":"x"}`,
		"position": `{"file":"x","ruleId":"x","range":{"start":{"line":-1}}}`,
	} {
		if _, err := parseStream([]byte(oneRecord + "\n" + text + "\n")); err == nil ||
			!strings.Contains(err.Error(), "line 2") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// For any input, parsing does not panic, and each returned record has a file, a rule and a valid position.
func FuzzParseStream(f *testing.F) {
	f.Add([]byte(oneRecord))
	f.Add([]byte(oneRecord + "\n" +
		`{"file":"a","ruleId":"b","newer":{"x":[1,2]},"note":"n","replacement":"r","replacementOffsets":{"start":1,"end":2}}`))
	f.Add([]byte("\n\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, err := parseStream(data)
		if err != nil && all != nil {
			t.Error("parseStream returns results together with an error")
		}
		for _, r := range all {
			if r.File == "" || r.Rule == "" || r.Range.Start.Line < 0 || r.Range.Start.Column < 0 {
				t.Errorf("%+v", r)
			}
		}
	})
}
