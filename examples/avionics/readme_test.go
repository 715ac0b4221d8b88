package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/qos"
)

// readmeBlock is the first fenced block of a language in the README of the repository.
func readmeBlock(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	require.True(t, found, "README.md has no %s block", language)
	block, _, _ := strings.Cut(rest, "```")
	return block
}

// The program of README in two processes, started in either order. It is built as if it were a package of this module, with
// files that exist for the compiler only.
func TestProgramOfReadmeInTwoProcesses(t *testing.T) {
	top, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	tmp := t.TempDir()
	put := func(name, text string) string {
		path := filepath.Join(tmp, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	goTool := func(args ...string) {
		cmd := exec.Command("go", args...)
		cmd.Dir = top
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	goTool("run", "./cmd/idlgen", put("chat.idl", readmeBlock(t, "idl")))
	const hello = "examples/avionics/internal/hello"
	program := strings.Replace(readmeBlock(t, "go"), `"hello/chat"`, `"github.com/omg-dds-go/dds/`+hello+`/chat"`, 1)
	require.Contains(t, program, "ctx, 42)")
	program = strings.Replace(program, "ctx, 42)", fmt.Sprintf("ctx, %d)", 1<<23+os.Getpid()), 1) // others may run it now
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{
		filepath.Join(top, hello, "main.go"):             put("main.go", program),
		filepath.Join(top, hello, "chat", "chat_idl.go"): filepath.Join(tmp, "chat_idl.go"),
	}})
	require.NoError(t, err)
	bin := filepath.Join(tmp, "hello")
	goTool("build", "-overlay", put("overlay.json", string(overlay)), "-o", bin, "./"+hello)

	for _, order := range [][]string{{"sub", "pub"}, {"pub", "sub"}} {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		outputs := make(map[string]*strings.Builder)
		var processes []*exec.Cmd
		for _, side := range order {
			cmd := exec.CommandContext(ctx, bin, side)
			cmd.Env = append(os.Environ(), "DDS_LEASE="+noLease)
			outputs[side] = new(strings.Builder)
			cmd.Stdout, cmd.Stderr = outputs[side], outputs[side]
			require.NoError(t, cmd.Start())
			processes = append(processes, cmd)
		}
		for i, cmd := range processes {
			assert.NoError(t, cmd.Wait(), "%s: %s", order[i], outputs[order[i]])
		}
		cancel()
		assert.Equal(t, readmeBlock(t, "output"), outputs["sub"].String())
		assert.Empty(t, outputs["pub"].String())
	}
}

// The profile that README shows is one, and its writers and readers match.
func TestProfileOfReadme(t *testing.T) {
	profiles, err := qos.Load("README.md", strings.NewReader(readmeBlock(t, "xml")))
	require.NoError(t, err)
	offered, err := profiles.DataWriter("Airport::Radio", "Chat")
	require.NoError(t, err)
	requested, err := profiles.DataReader("Airport::Radio", "Chat")
	require.NoError(t, err)
	assert.Equal(t, qos.ReliabilityReliable, offered.Reliability.Kind)
	assert.Equal(t, 8, int(offered.History.Depth))
	assert.Empty(t, qos.Compatible(offered, requested, qos.DefaultPublisher(), qos.DefaultSubscriber()))
	assert.Empty(t, profiles.Warnings())
}

// The Go names that README gives are those that idlgen makes.
func TestNamesOfReadme(t *testing.T) {
	dir := t.TempDir()
	idl := filepath.Join(dir, "names.idl")
	require.NoError(t, os.WriteFile(idl, []byte(`module air { module data {
		const long MAX_TRACKS = 3;
		enum Phase { TAXI, EN_ROUTE };
		typedef double knots;
		struct track_report { @key string<32> icao_id; knots ground_speed; Phase phase; sequence<long> past; long x[3]; };
	}; };`), 0o600))
	generate := exec.Command("go", "run", "./cmd/idlgen", idl)
	generate.Dir = filepath.Join("..", "..")
	out, err := generate.CombinedOutput()
	require.NoError(t, err, "%s", out)
	text, err := os.ReadFile(filepath.Join(dir, "names_idl.go"))
	require.NoError(t, err)
	words := strings.Join(strings.Fields(string(text)), " ") // whatever the columns are
	for _, want := range []string{
		"package data ", "type TrackReport struct {", "IcaoID string", "GroundSpeed Knots", "Past []int32", "X [3]int32", "MaxTracks ", "type Phase int32", "PhaseTaxi ", "PhaseEnRoute ", "type Knots = float64",
	} {
		assert.Contains(t, words, want)
	}
}
