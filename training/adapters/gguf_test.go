package adapters

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/runplan/runplan/tools/tinymodel"
)

var tiny = tinymodel.Model{Rules: []tinymodel.Rule{{When: "never said", Say: "the tuned answer"},
	{Say: "the answer of the base"}}}

func lora(t testing.TB, fault tinymodel.Fault) []byte {
	t.Helper()
	var w bytes.Buffer
	if err := tiny.WriteAdapter(&w, tinymodel.Adapter{Fault: fault}); err != nil {
		t.Fatal(err)
	}
	return w.Bytes()
}

func TestInspect(t *testing.T) {
	good := lora(t, "")
	var model bytes.Buffer
	if err := tiny.Write(&model); err != nil {
		t.Fatal(err)
	}
	change := func(from, to string) []byte { return bytes.Replace(good, []byte(from), []byte(to), 1) }
	for name, c := range map[string]struct {
		text []byte
		want string // in the error; "" is none
	}{
		"an adapter":                          {good, ""},
		"for another architecture, as a file": {lora(t, tinymodel.WrongArchitecture), ""},
		"of another shape, as a file":         {lora(t, tinymodel.WrongShape), ""},
		"a model":                             {model.Bytes(), `its type is "model", not adapter`},
		"nothing":                             {nil, "not a GGUF file"},
		"a text":                              {[]byte("GGML and more"), "not a GGUF file"},
		"only its name":                       {[]byte("GGUF"), "ends in the middle"},
		"cut off in its table":                {good[:200], "ends in the middle"},
		"cut off in its numbers":              {good[:len(good)-4000], "it is cut off"},
		"of a later form":                     {change("GGUF\x03", "GGUF\x09"), "GGUF version 9"},
		"of another kind": {change("lora\x12", "loha\x12"),
			`its adapter type is "loha"; only lora is supported`},
		"with one half":         {change("lora_b", "lora_c"), "neither lora_a nor lora_b"},
		"with two first halves": {change("lora_b", "lora_a"), "is repeated"},
		"with invalid numbers":  {lora(t, tinymodel.NotANumber), "NaN or infinity"},
		"that claims to be large": {append([]byte("GGUF\x03\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 64)...),
			"claims to have"},
		"whose text claims to be larger than it": {change("\x14\x00\x00\x00\x00\x00\x00\x00general.architecture",
			"\x14\x00\x00\x00\x00\x00\x00\x7fgeneral.architecture"), "claims to have"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "a.gguf")
			if err := os.WriteFile(file, c.text, 0o600); err != nil {
				t.Fatal(err)
			}
			info, err := Inspect(file)
			var wrong *FileError
			switch {
			case c.want == "" && (err != nil || info.Rank != 1 || info.Targets != 1 || info.Alpha != 1 ||
				info.Architecture == ""):
				t.Errorf("%+v %v", info, err)
			case c.want != "" && (!errors.As(err, &wrong) || !strings.Contains(err.Error(), c.want)):
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := Inspect(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	if _, err := Inspect(t.TempDir()); err == nil {
		t.Error("a folder is an adapter")
	}
}

// For any content, inspect stays within the size of the file, and returns an error or complete information.
func FuzzInspect(f *testing.F) {
	f.Add(lora(f, ""))
	f.Add(lora(f, tinymodel.NotANumber))
	f.Add([]byte("GGUF\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, text []byte) {
		info, err := inspect(bytes.NewReader(text), int64(len(text)))
		if err == nil && (info.Rank < 1 || info.Targets < 1 || info.Architecture == "") {
			t.Errorf("%+v of %d bytes", info, len(text))
		}
	})
}
