// Package license recognizes the license of a repository. It is a separate package because of its size: it contains 4
// MB of texts.
package license

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/google/licensecheck"

	"github.com/runplan/runplan/internal/lists"
)

// largestLicense is the highest size of a license file in bytes.
const largestLicense = 1 << 20

// Share of a file, in percent, that must match license texts. It is higher if only the usual licenses were searched,
// because the rest might be another license.
const (
	enough      = 75
	enoughUsual = 90
)

// Of returns the license of a repository, from the files in its root: an SPDX id, several ids joined with AND, or "" if
// unknown. It cannot detect a choice between licenses, so all of them count.
func Of(root fs.FS) string {
	entries, err := fs.ReadDir(root, ".")
	if err != nil {
		return ""
	}
	var ids []string
	for _, e := range entries {
		if !licenseName(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		text, err := readSome(root, e.Name())
		if err != nil {
			return ""
		}
		found := ofText(text)
		if found == "" {
			return "" // an unreadable license might forbid what the other licenses allow
		}
		ids = append(ids, strings.Split(found, " AND ")...)
	}
	return joined(ids)
}

// usual lists the licenses to search first, and families the id prefixes of all known licenses. Loading all licenses
// takes seconds, and most repositories have one of these.
func usual() []string {
	return []string{"0BSD", "AGPL-3.0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CommonsClause", "GPL-2.0",
		"GPL-3.0", "ISC", "LGPL-2.1", "LGPL-3.0", "MIT", "MIT-0", "MPL-2.0", "Unlicense"}
}

func families() []string {
	return []string{
		"0BSD", "AGPL-", "Apache-", "Artistic-", "BSD-", "BSL-", "BUSL-", "CC0-", "CDDL-", "CommonsClause", "CPL-", "ECL-",
		"Elastic-", "EPL-", "EUPL-", "GPL-", "ISC", "LGPL-",
		"MIT", "MPL-", "MS-PL", "MS-RL", "NCSA", "OFL-", "OSL-", "PolyForm-", "PostgreSQL", "PSF-", "Python-", "Ruby",
		"SSPL-", "Unlicense", "UPL-", "Vim", "WTFPL", "Zlib", "ZPL-",
	}
}

var (
	usualScanner = scanner(func(id string) bool { return slices.Contains(usual(), id) })
	wideScanner  = scanner(func(id string) bool {
		return slices.ContainsFunc(families(), func(f string) bool { return strings.HasPrefix(id, f) })
	})
)

func scanner(wanted func(id string) bool) func() (*licensecheck.Scanner, error) {
	return sync.OnceValues(func() (*licensecheck.Scanner, error) {
		list := lists.Filter(licensecheck.BuiltinLicenses(),
			func(l licensecheck.License) bool { return l.LRE != "" && wanted(l.ID) })
		return licensecheck.NewScanner(list)
	})
}

// ofText returns the license of a text, or "" if unknown.
func ofText(text []byte) string {
	for _, try := range []struct {
		scanner func() (*licensecheck.Scanner, error)
		percent float64
	}{{usualScanner, enoughUsual}, {wideScanner, enough}} {
		s, err := try.scanner()
		if err != nil {
			return ""
		}
		cover := s.Scan(text)
		if cover.Percent < try.percent {
			continue
		}
		var ids []string
		for _, m := range cover.Match {
			if !m.IsURL {
				ids = append(ids, m.ID)
			}
		}
		return joined(ids)
	}
	return ""
}

func joined(ids []string) string {
	return strings.Join(lists.Unique(ids), " AND ")
}

func readSome(root fs.FS, name string) ([]byte, error) {
	f, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, largestLicense))
}

// licenseName reports whether a file is a license, by its name: LICENSE, LICENCE.md, COPYING, LICENSE-MIT.
func licenseName(name string) bool {
	ext := path.Ext(name)
	if ext != strings.ToUpper(ext) &&
		!slices.Contains([]string{".txt", ".md", ".rst", ".markdown"}, strings.ToLower(ext)) {
		return false // a source file; LICENSE.MIT has no such extension
	}
	name = strings.TrimSuffix(name, ext)
	name = strings.ToUpper(name)
	for _, word := range []string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"} {
		if rest, ok := strings.CutPrefix(name, word); ok && (rest == "" || strings.ContainsAny(rest[:1], "-_")) {
			return true
		}
	}
	return false
}
