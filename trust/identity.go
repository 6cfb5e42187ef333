package trust

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

//go:embed documents/*.md
var documentFiles embed.FS

// Document is one of the identity documents: what heads a prompt before anything else (TRUST-12).
type Document struct {
	Name   string `json:"name"`
	Source string `json:"source"` // built-in, or the file
	Text   string `json:"text"`
}

// documents lists the identity documents in the order in which they stand: who it is, how it is built, how the project
// is built. Nobody but the project can tell the last.
func documents() []struct{ name, holds string } {
	return []struct{ name, holds string }{
		{"RUNPLAN.md", "who it is"},
		{"ARCHITECTURE.md", "how it is built"},
		{"PROJECT_MAP.md", "how this project is built: what lies where, how it is built and tested, what to leave alone"},
	}
}

// maxDocument bounds one document: all of it stands in every prompt.
const maxDocument = 64 << 10

// IdentityFolder is where a project keeps its documents, below the folder of its prompts.
func IdentityFolder(prompts string) string { return filepath.Join(prompts, "identity") }

// LoadIdentity reads the identity documents. One of the project's, in dir, takes the place of the one that is built in.
// A missing one is an error, for all that are missing.
func LoadIdentity(dir string, project fs.FS) ([]Document, error) {
	var out []Document
	var errs []error
	for _, d := range documents() {
		path := filepath.Join(dir, d.name)
		text, err := fs.ReadFile(project, d.name)
		source := path
		if errors.Is(err, fs.ErrNotExist) {
			source = "built-in"
			text, err = documentFiles.ReadFile("documents/" + d.name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%s is missing: write it, with %s", path, d.holds))
		case err != nil:
			errs = append(errs, fmt.Errorf("read the identity document: %w", err))
		case len(text) > maxDocument:
			errs = append(errs, fmt.Errorf("%s has %d bytes, and at most %d stand before each prompt: shorten it", path, len(text), maxDocument))
		case !utf8.Valid(text) || strings.TrimSpace(string(text)) == "":
			errs = append(errs, fmt.Errorf("%s is empty, or not UTF-8: write %s into it", path, d.holds))
		default:
			out = append(out, Document{d.name, source, strings.TrimSpace(string(text)) + "\n"})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return out, nil
}

// IdentityText is what heads a prompt: the documents, in their order.
func IdentityText(docs []Document) string {
	var b strings.Builder
	for i, d := range docs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(d.Text)
	}
	return b.String()
}
