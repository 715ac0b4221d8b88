package idl

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/xtypes"
)

// peer is another implementation: its compiler, and how a program of it is built.
type peer struct {
	name     string
	commands []string // compilers of IDL and of what that gives
	header   string
	packages string // of Debian
	files    []string
	compile  func(idl string) []string
	build    func(dir string, files []string) []string
	include  func(file string) string
	typeName func(t *xtypes.Type) string
}

var cyclone = peer{
	name: "Cyclone DDS", commands: []string{"idlc", "cc"}, header: "dds/dds.h", packages: "cyclonedds-dev cyclonedds-tools",
	files:   []string{"common", "xtypes"},
	compile: func(idl string) []string { return []string{"idlc", idl} },
	build: func(dir string, files []string) []string {
		args := []string{"cc", "-std=gnu11", "-O1", "-I" + dir, "-o", filepath.Join(dir, "echo"), filepath.Join("cyclone", "echo.c")}
		for _, f := range files {
			args = append(args, filepath.Join(dir, f+".c"))
		}
		return append(args, "-lddsc")
	},
	include:  func(file string) string { return file + ".h" },
	typeName: func(t *xtypes.Type) string { return strings.ReplaceAll(t.Name(), "::", "_") + "_desc" },
}

var fastDDS = peer{
	name: "Fast DDS", commands: []string{"fastddsgen", "c++"}, header: "fastdds/dds/topic/TopicDataType.hpp", packages: "libfastrtps-dev fastddsgen",
	files:   []string{"common", "extended"},
	compile: func(idl string) []string { return []string{"fastddsgen", "-replace", "-cs", idl} },
	build: func(dir string, files []string) []string {
		args := []string{"c++", "-std=c++17", "-O0", "-I" + dir, "-o", filepath.Join(dir, "echo"), filepath.Join("fastdds", "echo.cpp")}
		for _, f := range files {
			args = append(args, filepath.Join(dir, f+".cxx"), filepath.Join(dir, f+"PubSubTypes.cxx"))
		}
		return append(args, "-lfastrtps", "-lfastcdr")
	},
	include:  func(file string) string { return file + "PubSubTypes.h" },
	typeName: func(t *xtypes.Type) string { return t.Name() },
}

// missing says what the machine lacks to build the peer, or "".
func (p peer) missing() string {
	for _, c := range p.commands {
		if _, err := exec.LookPath(c); err != nil {
			return "no command " + c
		}
	}
	probe := exec.Command("c++", "-E", "-x", "c++", "-")
	probe.Stdin = strings.NewReader("#include <" + p.header + ">\n")
	if probe.Run() != nil {
		return "no header " + p.header
	}
	return ""
}

// echo is a running peer.
type echo struct {
	index map[string]uint32 // of types, by name
	in    io.WriteCloser
	out   *bufio.Reader
}

// start builds the peer for these types and runs it until the test ends.
func (p peer) start(t *testing.T, types []*xtypes.Type) *echo {
	t.Helper()
	if why := p.missing(); why != "" {
		t.Skipf("%s: %s; install the Debian packages %s", p.name, why, p.packages)
	}
	dir := t.TempDir()
	run := func(in string, args []string) {
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Dir = in
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
	}
	var header, list strings.Builder
	for _, f := range p.files {
		from, err := os.ReadFile(filepath.Join("corpus", f+".idl"))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, f+".idl"), from, 0o644))
		run(dir, p.compile(f+".idl"))
		fmt.Fprintf(&header, "#include \"%s\"\n", p.include(f))
	}
	e := &echo{index: map[string]uint32{}}
	for i, typ := range types {
		e.index[typ.Name()] = uint32(i)
		fmt.Fprintf(&list, "TYPE(%s)\n", p.typeName(typ))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "types.h"), []byte(header.String()), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "types.inc"), []byte(list.String()), 0o644))
	run(".", p.build(dir, p.files))

	cmd := exec.Command(filepath.Join(dir, "echo"))
	cmd.Env = append(os.Environ(), "CYCLONEDDS_URI=<General><Interfaces><NetworkInterface name='lo'/></Interfaces><AllowMulticast>false</AllowMulticast></General>")
	cmd.Stderr = t.Output()
	var err error
	e.in, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	e.out = bufio.NewReader(out)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		e.in.Close() // which ends it
		require.NoError(t, cmd.Wait())
	})
	return e
}

const refused = 1<<32 - 1

// send gives the peer a sample and returns what it makes of it; nil if it refuses it.
func (e *echo) send(t *testing.T, typ *xtypes.Type, representation int, sample []byte) []byte {
	t.Helper()
	head := binary.LittleEndian.AppendUint32(nil, e.index[typ.Name()])
	head = binary.LittleEndian.AppendUint32(head, uint32(representation))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(sample)))
	_, err := e.in.Write(append(head, sample...))
	require.NoError(t, err)
	var n [4]byte
	_, err = io.ReadFull(e.out, n[:])
	require.NoError(t, err, "the peer ended")
	length := binary.LittleEndian.Uint32(n[:])
	if length == refused {
		return nil
	}
	answer := make([]byte, length)
	_, err = io.ReadFull(e.out, answer)
	require.NoError(t, err, "the peer ended")
	return answer
}
