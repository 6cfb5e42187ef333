// Command gatev1 writes gate.pb.go and gate.binpb, the descriptor that it embeds, from gate.proto. It writes them a second
// time for the module sdk, which does not depend on this one. It needs neither protoc nor buf: it compiles the file itself, and the generator is a tool of this folder's
// go.mod, which pins its version.
//
// It is a separate module, so that builds of runplan need not download it. Run it with go generate ./gates/plugin/gatev1.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

// registered is the name under which the file is known to the protobuf registry of a program. It must be unique: a
// program with two files of the same name fails at startup.
const registered = "runplan/gate/v1/gate.proto"

// folder has gate.proto and the code for runplan.
const folder = "../../gates/plugin/gatev1"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "gatev1:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	source, err := os.ReadFile(folder + "/gate.proto")
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
	file := protoutil.ProtoFromFileDescriptor(files[0])
	sdk := proto.CloneOf(file)
	sdk.Options.GoPackage = proto.String("github.com/runplan/runplan/sdk/internal/gatev1")
	return errors.Join(
		generate(ctx, file, folder),
		generate(ctx, sdk, "../../sdk/internal/gatev1"))
}

// generate passes the compiled file to the generator and writes the result into dir.
func generate(ctx context.Context, file *descriptorpb.FileDescriptorProto, dir string) error {
	request, err := proto.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: []string{registered},
		Parameter:      proto.String("paths=source_relative"),
		ProtoFile:      []*descriptorpb.FileDescriptorProto{file},
	})
	if err != nil {
		return err
	}
	const tool = "protoc-gen-go"
	cmd := exec.CommandContext(ctx, "go", "tool", tool)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return err
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", tool, response.GetError())
	}
	descriptor, err := proto.MarshalOptions{Deterministic: true}.Marshal(withoutSource(file))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, embedded), descriptor, 0o644); err != nil {
		return err
	}
	for _, f := range response.File {
		text, err := used([]byte(f.GetContent()))
		if err != nil {
			return err
		}
		if text, err = embed(text); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(f.GetName())), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// embedded is the name of the file with the descriptor, next to the generated code.
const embedded = "gate.binpb"

// withoutSource returns the descriptor without comments and positions, as programs need neither.
func withoutSource(file *descriptorpb.FileDescriptorProto) *descriptorpb.FileDescriptorProto {
	file = proto.CloneOf(file)
	file.SourceCodeInfo = nil
	return file
}

// embed replaces the descriptor in generated code, an escaped text of a hundred lines, by the file that has it.
func embed(text []byte) ([]byte, error) {
	literal := regexp.MustCompile(`(?m)^const (\w+_rawDesc) = "" \+\n(?:\t".*"(?: \+)?\n)+`)
	if len(literal.FindAll(text, 2)) != 1 {
		return nil, errors.New("the generated code has no descriptor, or several")
	}
	text = literal.ReplaceAll(text, []byte("//go:embed "+embedded+"\nvar $1 string\n"))
	return bytes.Replace(text, []byte("import (\n"), []byte("import (\n\t_ \"embed\"\n"), 1), nil
}

// used removes declarations that neither runplan nor the protobuf library uses from generated code: getters, tables of
// names, compressed descriptors and the methods that return them, and the methods of the first version of the library.
func used(text []byte) ([]byte, error) {
	unused := regexp.MustCompile(`^Get[A-Z]|^(Reset|String|ProtoMessage)$|^Enum(Descriptor)?$|_(name|value|rawDescGZIP|rawDescOnce|rawDescData)$`)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	file.Decls = slices.DeleteFunc(file.Decls, func(d ast.Decl) bool {
		name, doc := "", (*ast.CommentGroup)(nil)
		switch d := d.(type) {
		case *ast.FuncDecl:
			name, doc = d.Name.Name, d.Doc
		case *ast.GenDecl:
			if v, ok := d.Specs[0].(*ast.ValueSpec); ok {
				name, doc = v.Names[0].Name, d.Doc
			}
		}
		drop := unused.MatchString(name) || strings.HasPrefix(doc.Text(), "Deprecated:")
		file.Comments = slices.DeleteFunc(file.Comments, func(c *ast.CommentGroup) bool {
			return drop && (c == doc || d.Pos() <= c.Pos() && c.End() <= d.End())
		})
		return drop
	})
	var out bytes.Buffer
	err = format.Node(&out, fset, file)
	return bytes.Replace(out.Bytes(), []byte("\tsync \"sync\"\n"), nil, 1), err
}
