// Package adapters holds the commands of training that work with adapters, which are small trained additions to a local
// model: build a corpus of blueprints and reviews, train an adapter on it, validate its answers, decide whether it is
// trusted, deploy it and go back to an earlier one. Package learn has the commands that make and select examples, and
// adds these to the command training.
package adapters
