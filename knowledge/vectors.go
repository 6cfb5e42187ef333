package knowledge

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/lists"
	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/store"
)

// VectorOptions holds the parameters of [Vectors].
type VectorOptions struct {
	Root     string // of the repository
	Store    *store.Curated
	Model    string // name and version; another one has other vectors
	Embed    func(ctx context.Context, texts []string) ([][]float32, error)
	Redact   func(string) string // removes secrets from texts
	Progress func(Progress)      // may be nil
}

// VectorResult reports what became of the vectors.
type VectorResult struct {
	Model   string `json:"model"`
	Made    int    `json:"made"`
	Trouble string `json:"trouble,omitempty"` // why some are missing
}

// Limits of one question to an embedding model.
const (
	embedChunks = 32
	embedChars  = 4_000 // of one chunk
)

// Vectors makes the missing vectors of the indexed chunks, and returns how many. It stores them after each question, so
// that it continues where it was stopped. A file that changed after indexing is left to the next index.
func Vectors(ctx context.Context, o VectorOptions) (made int, err error) {
	repo, err := o.Store.Repo(ctx, o.Root)
	if err != nil {
		return 0, err
	}
	todo, err := o.Store.Unembedded(ctx, repo, o.Model)
	if err != nil {
		return 0, err
	}
	var path string
	var lines []string // of path; nil if it changed
	done := 0
	for part := range slices.Chunk(todo, embedChunks) {
		if o.Progress != nil {
			o.Progress(Progress{"vectors", done, len(todo)})
		}
		texts := map[string]string{}
		var chunks []store.Unembedded
		for _, c := range part {
			if c.Path != path {
				path, lines = c.Path, linesOf(o.Root, c)
			}
			if c.End > len(lines) {
				continue
			}
			text := phrase.Cut(o.Redact(c.Path+" "+c.Label+"\n"+strings.Join(lines[c.Start-1:c.End], "\n")), embedChars)
			c.Hash = Hash([]byte(text))
			texts[c.Hash] = text
			chunks = append(chunks, c)
		}
		n, err := o.embed(ctx, chunks, texts)
		if err != nil {
			return made, err
		}
		made += n
		done += len(part)
	}
	return made, o.Store.PruneVectors(ctx, o.Model)
}

// embed asks for the vectors of new texts, and stores them.
func (o VectorOptions) embed(ctx context.Context, chunks []store.Unembedded, texts map[string]string) (int, error) {
	hashes := make([]string, 0, len(texts))
	for _, c := range chunks {
		hashes = lists.Add(hashes, c.Hash)
	}
	known, err := o.Store.EmbeddedHashes(ctx, o.Model, hashes)
	if err != nil {
		return 0, err
	}
	hashes = slices.DeleteFunc(hashes, func(h string) bool { return slices.Contains(known, h) })
	vectors := map[string][]float32{}
	if len(hashes) > 0 {
		all, err := o.Embed(ctx, lists.Map(hashes, func(h string) string { return texts[h] }))
		if err != nil {
			return 0, err
		}
		for i, h := range hashes {
			vectors[h] = all[i]
		}
	}
	return len(vectors), o.Store.AddVectors(ctx, o.Model, chunks, vectors)
}

// linesOf reads the lines of a chunk's file, or nil if it is not the indexed one any more.
func linesOf(root string, c store.Unembedded) []string {
	raw, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(c.Path)))
	if err != nil || Hash(raw) != c.TextHash {
		return nil
	}
	return strings.Split(strings.ToValidUTF8(string(raw), " "), "\n")
}
