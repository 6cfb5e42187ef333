package history

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/git"
	"github.com/runplan/runplan/internal/wordset"
)

// otherText is the text of commits outside of their code: their messages and other files. It has its own process of git
// and its own memory, so that the steps before and after it need not wait.
type otherText struct {
	objects *git.Objects
	sentry  sentry
}

// refuse refuses commits with secrets in that text: a commit that adds a key to a settings file gives no example.
func (o otherText) refuse(ctx context.Context, all []*work) error {
	var names []string
	var of []*work
	var texts []text
	for _, w := range all {
		for _, e := range w.Entries {
			_, after := e.Blobs()
			if after != "" && !slices.ContainsFunc(w.changes, func(c *change) bool { return c.path == e.Path }) &&
				!pictures.Has(strings.ToLower(path.Ext(e.Path))) {
				names, of, texts = append(names, after), append(of, w), append(texts, text{path: e.Path})
			}
		}
	}
	objects, err := o.objects.Read(names)
	if err != nil {
		return err
	}
	for i, x := range objects {
		if len(x.Data) <= mostBytes {
			texts[i].text = string(x.Data)
		}
	}
	for _, w := range all {
		texts, of = append(texts, text{"message.txt", w.Message}), append(of, w)
	}
	found, err := o.sentry.look(ctx, texts)
	if err != nil {
		return err
	}
	for i, w := range of {
		if found[i] {
			w.reason = Secret
		}
	}
	return nil
}

// changedCode is the code that commits change.
type changedCode struct {
	cache  *versionCache
	sentry sentry
}

// look refuses commits with secrets in their code, and outlines all other commits.
func (c changedCode) look(ctx context.Context, all []*work) error {
	if err := c.cache.search(ctx, c.sentry, sidesOf(all)); err != nil {
		return err
	}
	for _, w := range all {
		if slices.ContainsFunc(sidesOf([]*work{w}), func(s *source) bool { return s.secret }) {
			w.reason = Secret
		}
	}
	all = open(all)
	if err := c.cache.outline(ctx, sidesOf(all)); err != nil {
		return err
	}
	return parallel(ctx, len(all), func(i int) error {
		all[i].understand()
		return nil
	})
}

// sidesOf returns the file versions that commits change.
func sidesOf(all []*work) []*source {
	var out []*source
	for _, w := range all {
		for _, c := range w.changes {
			out = append(out, c.versions()...)
		}
	}
	return out
}

var pictures = wordset.New(
	".png .jpg .jpeg .gif .ico .webp .pdf .zip .gz .tgz .xz .bz2 .tar .jar .war .class .so .dll .exe .o .a .woff .woff2 " +
		".ttf .eot .otf .mp3 .mp4 .mov .avi .wasm .bin .dat .db .sqlite .psd .svg")
