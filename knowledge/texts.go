package knowledge

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/store"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/knowledge/chunks"
	"github.com/runplan/runplan/knowledge/outline"
	"github.com/runplan/runplan/patterns"
)

// maxText is the highest size of a file without symbols that is indexed, in bytes. A larger one is data.
const maxText = 512 << 10

// Searchable reports whether the index has the text of a file with this name and size in bytes.
func Searchable(name string, size int64) bool {
	return size > 0 && size <= maxText && (outline.LanguageOf(name) != "" || worthSearching(name)) &&
		patterns.OddName(name) == ""
}

// worthSearching reports whether the name of a file without symbols suggests text that people write.
func worthSearching(name string) bool {
	base := strings.ToLower(path.Base(name))
	return !strings.HasPrefix(name, ".runplan/") && !notWritten.Has(path.Ext(base)) && !notWritten.Has(base) && !strings.HasSuffix(base, ".min.css")
}

// notWritten holds extensions and names of files that people do not write as text.
var notWritten = wordset.New(
	".png .jpg .jpeg .gif .ico .webp .svg .pdf .zip .gz .tgz .bz2 .xz .jar .class .so .o .a .woff .woff2 .ttf .eot .otf " +
		".mp3 .mp4 .mov .wasm .pyc .sqlite .db .lock .sum .map .snap .pem .crt .key .age " +
		"package-lock.json pnpm-lock.yaml npm-shrinkwrap.json bun.lockb")

// otherText reports whether a file without symbols has to be read.
func (x *indexer) otherText(name string, fi fs.FileInfo) (candidate, bool) {
	known := x.texts[name]
	delete(x.texts, name)
	if !fi.Mode().IsRegular() || !Searchable(name, fi.Size()) {
		if known.ID != 0 {
			x.texts[name] = known // it was text at the last index
		}
		return candidate{}, false
	}
	c, same := x.candidate(name, "", fi, known)
	return c, !same
}

// forgetTexts removes deleted files.
func (x *indexer) forgetTexts(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(x.texts)) {
		if err := x.tx.DeleteText(ctx, x.state.ID, name); err != nil {
			return err
		}
	}
	return nil
}

// writeText writes a file without symbols to the database.
func (x *indexer) writeText(ctx context.Context, f *seenFile) error {
	switch {
	case f.gone:
		return nil
	case f.same:
		return x.tx.TouchText(ctx, f.known.ID, f.modified)
	}
	return x.tx.PutText(ctx, x.state.ID,
		store.Text{ID: f.known.ID, Path: f.path, Hash: f.hash, Size: f.size, Modified: f.modified}, f.known.ID == 0, f.chunks)
}

// longLine is the line length in bytes that marks a text as generated.
const longLine = 4_000

// makeChunks splits the text of a file into search chunks.
func (f *seenFile) makeChunks() {
	text := f.text
	f.text = nil
	if len(text) == 0 || f.gone || f.same || git.Binary(text) {
		return
	}
	f.chunks = ChunksOf(f.path, strings.ToValidUTF8(string(text), " "), f.outline.Symbols)
}

// ChunksOf splits the text of a file along its syntax, and adds the search terms of each chunk. A text with generated,
// very long lines has no chunks.
func ChunksOf(name, text string, symbols []outline.Symbol) []store.Chunk {
	lines := strings.Split(text, "\n")
	for _, l := range lines {
		if len(l) > longLine {
			return nil
		}
	}
	spans := chunks.Chunks(name, lines)
	out := make([]store.Chunk, len(spans))
	file := strings.TrimSuffix(name, path.Ext(name))
	at := 0
	for i, s := range spans {
		for at < len(symbols) && symbols[at].Start < s.Start {
			at++
		}
		var label []string
		for j := at; j < len(symbols) && symbols[j].Start <= s.End && len(label) < 12; j++ {
			if symbols[j].Name != "" && !slices.Contains(label, symbols[j].Name) {
				label = append(label, symbols[j].Name)
			}
		}
		names := strings.Join(label, " ")
		out[i] = store.Chunk{Start: s.Start, End: s.End, Label: strings.Join(label, ", "),
			Name: chunks.Words(file + " " + names),
			Body: chunks.Words(strings.Join(lines[s.Start-1:s.End], "\n"))}
	}
	return out
}
