// Package browser looks at the page of runplan serve in a real browser: headless Chromium, driven over its own
// protocol. It is all tests. Without Chromium they are skipped, and say so; with RUNPLAN_TEST_ALL=1 they fail
// then. Screenshots for docs are made here as well, by make screenshots.
package browser
