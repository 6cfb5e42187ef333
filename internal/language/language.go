// Package language holds facts about programming languages that several packages need: which files hold tests, and
// which folders hold third-party code.
package language

// Vendored reports whether a folder with this name contains third-party dependencies.
func Vendored(folder string) bool {
	switch folder {
	case "node_modules", "bower_components", "vendor", "_vendor", "third_party", ".venv", "venv", "site-packages":
		return true
	}
	return false
}
