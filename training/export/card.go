package export

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/runplan/runplan/internal/phrase"
	"github.com/runplan/runplan/internal/wordset"
	"github.com/runplan/runplan/training/curate"
)

// card returns README.md. It describes the data for people and, in its front matter, for Hugging Face.
func (j *job) card() (string, error) {
	return rendered("README.md", struct {
		*Manifest
		Hub                           []string // licenses
		Tag, Size, What, Text, Start  string
		TrainFile, Held, ManifestFile string
		Kept                          bool
		Reasons                       []curate.Reason
	}{
		j.m, hubLicenses(j.m.Licenses), strings.ReplaceAll(string(j.m.Plan.Stage), "_", "-"),
		sizeCategory(j.m.Train.Examples + j.m.Validation.Examples), j.Format.What, j.Format.Text, j.Format.Run, trainFile,
		j.Format.Held, ManifestFile, j.TooLong == Keep, Reasons(),
	})
}

func code(s string) string { return "`" + strings.NewReplacer("`", "'", "\n", " ").Replace(s) + "`" }

// cell makes foreign text safe for a table cell.
func cell(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", "[", "\\[").Replace(s)
}

func sizeCategory(n int) string {
	switch {
	case n < 1_000:
		return "n<1K"
	case n < 10_000:
		return "1K<n<10K"
	case n < 100_000:
		return "10K<n<100K"
	case n < 1_000_000:
		return "100K<n<1M"
	}
	return "n>1M"
}

// hubNames are the licenses with a name on Hugging Face.
var hubNames = wordset.New(`afl-3.0 agpl-3.0 apache-2.0 artistic-2.0 bsd-2-clause bsd-3-clause bsd-3-clause-clear
bsl-1.0 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc0-1.0 ecl-2.0 epl-1.0 epl-2.0 eupl-1.1 gpl-2.0 gpl-3.0 isc
lgpl-2.1 lgpl-3.0 lppl-1.3c mit mpl-2.0 ms-pl ncsa ofl-1.1 osl-3.0 postgresql unlicense wtfpl zlib`)

// hubLicenses returns the licenses under their Hugging Face names. A license without such a name becomes "other".
func hubLicenses(all map[string]int) []string {
	set := map[string]bool{}
	for l := range all {
		if l == "" {
			set["unknown"] = true
			continue
		}
		for _, id := range strings.Split(l, " AND ") {
			id = strings.ToLower(id)
			id = strings.TrimSuffix(strings.TrimSuffix(id, "-only"), "-or-later")
			if !hubNames.Has(id) {
				id = "other"
			}
			set[id] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// Used lists the licenses of a dataset for messages.
func Used(m Manifest) string {
	return phrase.Join(slices.Sorted(maps.Keys(m.Licenses)), ", ", func(l string) string { return cmp.Or(l, "unknown") })
}
