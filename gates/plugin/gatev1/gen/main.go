// Command gen writes gate.pb.go and gate_grpc.pb.go from gate.proto. It needs neither protoc nor buf: it compiles the
// file itself, and the two generators are tools of this folder's go.mod, which pins their versions.
//
// It is a separate module, so that builds of runplan need not download it. Run it with go generate in the folder above.
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// registered is the name under which the file is known to the protobuf registry of a program. It must be unique: a
// program with two files of one name fails at its start.
const registered = "runplan/gate/v1/gate.proto"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	source, err := os.ReadFile("../gate.proto")
	if err != nil {
		return err
	}
	compiler := protocompile.Compiler{
		SourceInfoMode: protocompile.SourceInfoStandard, // comments go into the Go code
		Resolver: &protocompile.SourceResolver{
			Accessor: protocompile.SourceAccessorFromMap(map[string]string{registered: string(source)}),
		},
	}
	files, err := compiler.Compile(ctx, registered)
	if err != nil {
		return err
	}
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{registered},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{protoutil.ProtoFromFileDescriptor(files[0])},
	})
	if err != nil {
		return err
	}
	for _, tool := range []string{"protoc-gen-go", "protoc-gen-go-grpc"} {
		if err := generate(ctx, tool, request); err != nil {
			return fmt.Errorf("%s: %w", tool, err)
		}
	}
	return nil
}

// generate passes the compiled file to a generator and writes the result.
func generate(ctx context.Context, tool string, request []byte) error {
	cmd := exec.CommandContext(ctx, "go", "tool", tool)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return err
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s", response.GetError())
	}
	for _, f := range response.File {
		if err := os.WriteFile(filepath.Join("..", filepath.Base(f.GetName())), []byte(f.GetContent()), 0o644); err != nil {
			return err
		}
	}
	return nil
}
