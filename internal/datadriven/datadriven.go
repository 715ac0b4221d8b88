package datadriven

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
)

// Arg is a word of a command: key, key=value or key=(value, value).
type Arg = datadriven.CmdArg

// Value is the value of an argument, with the commas that it was written with.
func Value(a Arg) string { return strings.Join(a.Vals, ", ") }

// Command is one line of a case.
type Command struct {
	Name string
	Args []Arg
	Text string // as it is written
}

// Case is a list of commands that are run together.
type Case struct {
	Commands []Command
	// Rewriting: what the case prints becomes what is expected of it.
	Rewriting bool
	data      *datadriven.TestData
}

// Has tells whether some command of the case has one of the names.
func (c *Case) Has(names ...string) bool {
	return slices.ContainsFunc(c.Commands, func(d Command) bool { return slices.Contains(names, d.Name) })
}

// Expected is what the file says: a run that can not play the case gives that back.
func (c *Case) Expected() string { return c.data.Expected }

// Run plays the cases of all files that match a pattern, each file as a test of its own.
func Run(t *testing.T, pattern string, play func(t *testing.T, c *Case) string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts match %s: %v", pattern, err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			datadriven.RunTest(t, file, func(t *testing.T, d *datadriven.TestData) string {
				c := &Case{Commands: []Command{{d.Cmd, d.CmdArgs, d.FullCmd()}}, Rewriting: d.Rewrite, data: d}
				for _, line := range strings.Split(d.Input, "\n") {
					if line == "" || strings.HasPrefix(line, "#") {
						continue
					}
					name, args, err := datadriven.ParseLine(line)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					c.Commands = append(c.Commands, Command{name, args, line})
				}
				return play(t, c)
			})
		})
	}
}
