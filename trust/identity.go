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

// Document is an identity document. These documents precede every prompt (TRUST-12).
type Document struct {
	Name   string `json:"name"`
	Source string `json:"source"` // built-in, or the path of the file
	Text   string `json:"text"`
}

// documents lists the identity documents in order: identity, architecture, and project. Only the project can supply
// the last.
func documents() []struct{ name, holds string } {
	return []struct{ name, holds string }{
		{"RUNPLAN.md", "who it is"},
		{"ARCHITECTURE.md", "how it is built"},
		{"PROJECT_MAP.md", "the structure of this project: its folders, how it is built and tested, and what not to change"},
	}
}

// maxDocument is the highest size of a document in bytes, because each prompt contains all of them.
const maxDocument = 64 << 10

// IdentityFolder returns the folder of a project's documents, below the folder of its prompts.
func IdentityFolder(prompts string) string { return filepath.Join(prompts, "identity") }

// LoadIdentity reads the identity documents. A document of the project in dir overrides the built-in one. One error
// reports all missing documents.
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
			errs = append(errs, fmt.Errorf("%s has %d bytes, and the limit of identity documents is %d: shorten it", path,
				len(text), maxDocument))
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

// IdentityText joins the documents in order for the start of a prompt.
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
