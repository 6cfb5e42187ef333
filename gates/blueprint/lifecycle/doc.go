// Package lifecycle takes a blueprint from its first draft to live, and keeps it true. A model writes code for it, a cold
// review compares the two, critical discrepancies wait in a queue for a person, and after review, checks and a signature
// the candidate is promoted to live. Maintenance repeats checks and reviews of live blueprints.
//
// In a cold review a model judges summaries of the code; it does not know how or why the code was written. Reviews make
// no exceptions.
package lifecycle
