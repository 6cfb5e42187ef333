//go:build ignore

// Program image writes an OCI image without a daemon: the base system, then ast-grep, then runplan, as three layers of
// a tar file with an OCI image layout. It is not one of the module's packages, because only releases need its library:
// go run -modfile=tools/dist/release.mod tools/dist/image/main.go
//
// The same files give the same bytes: owners are 0, and all dates are the date of the commit.
package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the number of the user and the group in the image. It has no name: git needs one only for commits, and takes
// those of the repository.
const user = 1000

var (
	base    = flag.String("base", "", "tar `file` of the base system, with git and bash")
	astGrep = flag.String("ast-grep", "", "program ast-grep; none without it")
	program = flag.String("runplan", "", "program runplan")
	arch    = flag.String("arch", "amd64", "architecture, as GOARCH")
	version = flag.String("version", "", "version without the v")
	commit  = flag.String("commit", "", "commit of the release")
	date    = flag.String("date", "", "date of the commit, RFC 3339")
	out     = flag.String("out", "", "tar `file` to write")
)

func main() {
	flag.Parse()
	if err := build(); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

func build() error {
	at, err := time.Parse(time.RFC3339, *date)
	if err != nil {
		return err
	}
	system, err := tarball.LayerFromFile(*base, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return err
	}
	layers := []mutate.Addendum{{Layer: system, History: v1.History{CreatedBy: "base system", Created: v1.Time{Time: at}}}}
	add := func(what string, files ...entry) error {
		l, err := layer(at, files)
		layers = append(layers, mutate.Addendum{Layer: l, History: v1.History{CreatedBy: what, Created: v1.Time{Time: at}}})
		return err
	}
	if *astGrep != "" {
		if err := add("ast-grep", entry{"usr/bin/ast-grep", *astGrep, "", 0o755, 0}); err != nil {
			return err
		}
	}
	if err := add("runplan "+*version,
		entry{"etc/gitconfig", "", "# The repository in /work belongs to a user of the host.\n[safe]\n\tdirectory = *\n",
			0o644, 0},
		entry{"home/runplan/", "", "", 0o777, user}, entry{"usr/bin/runplan", *program, "", 0o755, 0},
		entry{"usr/share/doc/runplan/LICENSE", "LICENSE", "", 0o644, 0},
		entry{"usr/share/doc/runplan/NOTICE", "NOTICE", "", 0o644, 0},
		entry{"work/", "", "", 0o777, user},
	); err != nil {
		return err
	}
	img, err := mutate.Append(mutate.MediaType(empty.Image, types.OCIManifestSchema1), layers...)
	if err != nil {
		return err
	}
	img = mutate.ConfigMediaType(img, types.OCIConfigJSON)
	if img, err = configured(img, at); err != nil {
		return err
	}
	return write(img, at)
}

// configured sets what runs in the image, and as whom.
func configured(img v1.Image, at time.Time) (v1.Image, error) {
	old, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	c := old.DeepCopy()
	c.OS, c.Architecture, c.Created = "linux", *arch, v1.Time{Time: at}
	c.Config = v1.Config{
		User: fmt.Sprintf("%d:%[1]d", user), WorkingDir: "/work", Entrypoint: []string{"/usr/bin/runplan"},
		Cmd: []string{"--help"},
		Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/home/runplan", "LANG=C.UTF-8"},
		Labels: map[string]string{
			"org.opencontainers.image.title": "runplan", "org.opencontainers.image.version": *version,
			"org.opencontainers.image.revision": *commit,
			"org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.source":   "https://github.com/runplan/runplan",
		},
	}
	return mutate.ConfigFile(img, c)
}

// entry is a file of a layer: a copy, or a text; a name that ends in a slash is a folder.
type entry struct {
	name, from, text string
	mode             int64
	owner            int
}

func layer(at time.Time, entries []entry) (v1.Layer, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range entries {
		text := []byte(e.text)
		if e.from != "" {
			var err error
			if text, err = os.ReadFile(e.from); err != nil {
				return nil, err
			}
		}
		h := &tar.Header{Name: e.name, Mode: e.mode, Uid: e.owner, Gid: e.owner, Size: int64(len(text)), ModTime: at,
			Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.name[len(e.name)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// write writes the image as a layout in a tar file, in the order of names.
func write(img v1.Image, at time.Time) (err error) {
	dir, err := os.MkdirTemp("", "runplan-image-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := p.AppendImage(img,
		layout.WithAnnotations(map[string]string{"org.opencontainers.image.ref.name": *version})); err != nil {
		return err
	}
	f, err := os.Create(*out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := tar.NewWriter(f)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := w.WriteHeader(
			&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), ModTime: at}); err != nil {
			return err
		}
		from, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(w, from)
		return errors.Join(err, from.Close())
	})
	return errors.Join(err, w.Close())
}
