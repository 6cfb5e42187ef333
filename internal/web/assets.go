package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// assetPath is the path of the files that all pages need.
const assetPath = "/-/"

// assets is a variable because embed knows no constants.
//
//go:embed assets/app.css assets/app.js assets/icon.svg
var assets embed.FS

// serveAsset serves an embedded file. It contains no user data, so even a page that refuses access can use it.
func serveAsset(w http.ResponseWriter, r *http.Request) {
	name := strings.TrimPrefix(r.URL.Path, assetPath)
	data, err := assets.ReadFile("assets/" + name)
	if err != nil || strings.Contains(name, "/") {
		Refuse(w, http.StatusNotFound, "Not found", "The program has no such file.")
		return
	}
	sum := sha256.Sum256(data)
	h := w.Header()
	h.Set("Content-Type", mime.TypeByExtension(path.Ext(name)))
	h.Set("Cache-Control", "no-cache") // the browser checks each time whether the file has changed
	h.Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
