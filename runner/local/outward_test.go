package local

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOutsideDependencies(t *testing.T) {
	for name, test := range map[string]struct {
		file, text string
		want       []string
	}{
		"node, with one inside": {"package.json",
			`{"dependencies": {"a": "file:../a", "b": "file:./b", "c": "^1.0.0", "d": "link:../d"}}`,
			[]string{"package.json: ../a", "package.json: ../d"}},
		"go, but not what is commented": {"go.mod",
			"module m\n\nreplace example.org/a => ../a\n// replace example.org/b => ../b\nreplace example.org/c => ./c\n",
			[]string{"go.mod: ../a"}},
		"go, in a block": {"go.mod", "replace (\n\texample.org/a v1.0.0 => ../../a\n)\n",
			[]string{"go.mod: ../../a"}},
		"a go workspace": {"go.work", "go 1.26\n\nuse (\n\t./in\n\t../out\n)\n", []string{"go.work: ../out"}},
		"rust": {"Cargo.toml", "[dependencies]\na = { path = \"../a\" }\nb = { path = \"b\" }\n",
			[]string{"Cargo.toml: ../a"}},
		"python": {"requirements.txt", "-e ../a\n../b\nc @ file:../c\nrequests\n./d\n",
			[]string{"requirements.txt: ../a", "requirements.txt: ../b", "requirements.txt: ../c"}},
		"an absolute path is the same": {"requirements.txt", "-e /srv/a\n", nil},
		"no manifest":                  {"notes.txt", "file:../a", nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, test.file+"="+test.text)
			got, err := b.outward(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
