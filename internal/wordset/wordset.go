// Package wordset provides sets of words that are built at their first use. A map in a variable of a package would be
// built at each start of the program.
package wordset

import (
	"strings"
	"sync"
)

// Set is a set of words. Several goroutines may use it.
type Set struct {
	text  string
	once  sync.Once
	words map[string]bool
}

// New returns the set of the words in text, which white space separates. It is so small that the compiler puts its
// result into the data of the program.
func New(text string) *Set { return &Set{text: text} }

// Has reports whether word is in the set.
func (s *Set) Has(word string) bool { return s.Words()[word] }

// Words returns all words of the set. The caller must not change it.
func (s *Set) Words() map[string]bool {
	s.once.Do(func() {
		s.words = map[string]bool{}
		for word := range strings.FieldsSeq(s.text) {
			s.words[word] = true
		}
	})
	return s.words
}
