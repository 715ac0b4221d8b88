package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/datadriven"
)

// a has gone when x was stored, b has it in its log and goes, and k has it in memory. a comes back, and k dies while
// the state is on its way from it, at any time: a does not go on with its own log, which is older, but waits for that
// of b.
func TestMemorySourceDies(t *testing.T) {
	for at := time.Duration(0); at < 2*time.Millisecond; at += 125 * time.Microsecond {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			s := newScript(t)
			do := func(line string) {
				command, rest, _ := strings.Cut(line, " ")
				var args []datadriven.Arg
				for _, word := range strings.Fields(rest) {
					args = append(args, datadriven.Arg{Key: word})
				}
				groupCommands[command](s, args)
			}
			for _, line := range []string{
				"group a b k d e apart", "memory k", "writer a logged", "writer b logged", "reader k logged", "send a logged w", "rest",
				"crash a", "rest", "send b logged x", "rest", "crash b", "rest", "restart a",
			} {
				do(line)
			}
			s.let(at)
			for _, line := range []string{"crash k", "rest", "restart b", "rest"} {
				do(line)
			}
			for _, name := range []string{"a", "b"} {
				require.Equal(t, "w x", words(s.names[name].history[logged]), "%s keeps, after\n%s", name, s.out.String())
			}
			s.check()
		})
	}
}
