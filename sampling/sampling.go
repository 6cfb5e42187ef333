// Package sampling holds tournaments: several candidates of one batch compete, and it chooses the winner.
//
// A tournament is worth its cost if another try can help: a batch failed, is critical, or a person asked for it.
// [Plan] decides whether to hold one, [Allocate] gives each candidate its variant of the brief, and a [Scorer]
// rates those that passed their gates. [Decide] picks the winner or asks for a synthesis of all attempts, whose
// brief [Brief] writes. The results go into a [Store], from which the next [Allocate] learns.
//
// The package runs no process, reads no clock and creates no random numbers: the caller supplies time, memory and a
// seeded random source. Only a Store uses the disk.
package sampling

import (
	"hash/fnv"
	"math/rand/v2"
)

// Options are the settings of tournaments.
type Options struct {
	Close       float64 // share of the best score within which the best two are close
	StopAtFirst bool    // the first candidate that passes wins, and no synthesis is made
	LearnAfter  int     // minimum number of outcomes of a batch type before they influence the choice of variants
	Forget      float64 // weight that an outcome loses with each later one of its type, 0 to 1; see [DefaultOptions]
}

// DefaultOptions returns the default options. docs/sampling.md explains how a simulation chose the value of Forget.
func DefaultOptions() Options {
	return Options{Close: 0.05, LearnAfter: 10, Forget: 0.01}
}

// Rand returns the random source of a batch in a run with this seed. It depends on the batch, so a batch gets the same
// candidates in any order of batches.
func Rand(seed uint64, batch string) *rand.Rand {
	h := fnv.New64a() // the same on every machine and in every version
	h.Write([]byte(batch))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
