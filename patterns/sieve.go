package patterns

import "slices"

// sieve finds the rules that can match in some files. The program compiles each rule that it gets, which takes longer
// than reading a few files.
type sieve struct {
	docs []document
	mine []bool // the rule is not built in
	used []bool // the rule can match in one of the files
	own  string // the text of the rules that are not built in
}

func newSieve(rules []Rule) *sieve {
	v := &sieve{}
	var own []document
	for _, r := range rules {
		for _, d := range r.docs {
			v.docs, v.mine = append(v.docs, d), append(v.mine, r.Layer != BuiltIn)
			if r.Layer != BuiltIn {
				own = append(own, d)
			}
		}
	}
	v.used, v.own = make([]bool, len(v.docs)), textOf(own)
	return v
}

// sift notes the rules that can match in a file: those for its language whose text the file contains. A user's rule
// may be for a language that is embedded in another, so its language does not count. A file with suppressions is
// always scanned. HTML embeds several languages and is not sifted.
func (v *sieve) sift(s *source, text []byte) {
	if s.language == "html" {
		return
	}
	s.sifted, s.idle = true, len(s.comments) == 0
	held := string(text)
	for i, d := range v.docs {
		if (s.idle || !v.used[i]) && (v.mine[i] || d.language == s.language) && d.need().in(held) {
			v.used[i], s.idle = true, false
		}
	}
}

// sifted returns the files that ast-grep has to check, and the rules for them. If only ast-grep knows the language of a
// file, it keeps all rules. Users' rules that ast-grep has not accepted yet run on all files, so that a broken one is
// an error at once.
func (v *sieve) sifted(look []source, accepted bool) (ask []source, docs []document) {
	all := false
	for i := range look {
		s := &look[i]
		if !accepted {
			s.idle = false
		}
		if !s.idle {
			ask, all = append(ask, *s), all || !s.sifted
		}
	}
	for i, d := range v.docs {
		if all || v.used[i] || v.mine[i] && !accepted {
			docs = append(docs, d)
		}
	}
	return ask, docs
}

// knows reports whether ast-grep has accepted the rules before, while this Program was in use.
func (p Program) knows(own string) bool {
	if own == "" {
		return true
	}
	if p.seen == nil {
		return false
	}
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	return slices.Contains(p.seen.rules, own)
}

// accept notes that the program has accepted the rules.
func (p Program) accept(own string) {
	if p.seen == nil {
		return
	}
	p.seen.mu.Lock()
	defer p.seen.mu.Unlock()
	if own != "" && !slices.Contains(p.seen.rules, own) {
		p.seen.rules = append(p.seen.rules, own)
	}
}
