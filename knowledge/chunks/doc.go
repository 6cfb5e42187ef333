// Package chunks divides texts for search, in any language and without a parser: a file into blocks of lines that
// belong together, and a text into the words and parts of names by which it is found. The index, retrieval and the
// selection of training examples use the same blocks and words, so that what one stores the others find.
package chunks
