module github.com/runplan/runplan/tools/gatev1

go 1.26.0

require (
	github.com/bufbuild/protocompile v0.14.1 // indirect
	golang.org/x/sync v0.8.0 // indirect
	google.golang.org/protobuf v1.36.12 // indirect
)

tool google.golang.org/protobuf/cmd/protoc-gen-go
