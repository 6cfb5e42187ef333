// Package browser tests the page of runplan serve in headless Chromium, over the DevTools protocol. It contains only
// tests. Without Chromium they are skipped with a message; with RUNPLAN_TEST_ALL=1 they fail. It also makes the
// screenshots for the documentation: make screenshots.
package browser
