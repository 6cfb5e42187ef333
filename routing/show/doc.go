// Package show shows the decision about a plan to people: as text before each run, and as a drawing of its batches, for
// a browser (SVG) or for Graphviz (DOT). It reads a finished decision and decides nothing.
package show
