package license

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// The license is that of the license files at the top of the repository, and unknown if any of them is unknown.
func TestLicense(t *testing.T) {
	mit, err := os.ReadFile(filepath.Join("testdata", "MIT.txt"))
	if err != nil {
		t.Fatal(err)
	}
	isc, err := os.ReadFile(filepath.Join("testdata", "ISC.txt"))
	if err != nil {
		t.Fatal(err)
	}
	const clause = `"Commons Clause" License Condition v1.0

The Software is provided to you by the Licensor under the License, as defined below, subject to the following condition.

Without limiting other conditions in the License, the grant of rights under the License will not include, and the License
does not grant to you, the right to Sell the Software.

For purposes of the foregoing, "Sell" means practicing any or all of the rights granted to you under the License to provide
to third parties, for a fee or other consideration (including without limitation fees for hosting or consulting/ support
services related to the Software), a product or service whose value derives, entirely or substantially, from the
functionality of the Software. Any license notice or attribution required by the License must also include this Commons
Clause License Condition notice.

Software: x
License: MIT
Licensor: Ada

`
	file := func(text []byte) *fstest.MapFile { return &fstest.MapFile{Data: text} }
	for name, tt := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"one":                      {fstest.MapFS{"LICENSE": file(mit)}, "MIT"},
		"British, markdown":        {fstest.MapFS{"licence.md": file(mit)}, "MIT"},
		"two":                      {fstest.MapFS{"LICENSE-MIT": file(mit), "COPYING": file(isc)}, "ISC AND MIT"},
		"one unknown":              {fstest.MapFS{"LICENSE": file(mit), "COPYING": file([]byte("all rights reserved"))}, ""},
		"with a clause of its own": {fstest.MapFS{"LICENSE": file([]byte(clause + string(mit)))}, ""},
		"none": {fstest.MapFS{"README.md": file(mit), "src/LICENSE": file(mit), "license.go": file(mit)},
			""},
		"mentioned": {fstest.MapFS{"LICENSE": file(
			[]byte("This is MIT, see https://opensource.org/licenses/MIT. " + strings.Repeat("And more words. ", 30)))}, ""},
		"a folder": {fstest.MapFS{"LICENSES/MIT.txt": file(mit)}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Of(tt.files); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}
