package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const asCommand = "DDS_TEST_AS_COMMAND" // set: this process is dds

// mark is in the environment of every process that a test starts, and of their children.
const mark = "DDS_TEST_MARK"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is dds in a process of its own.
type command struct {
	*exec.Cmd
	out, err bytes.Buffer
	mark     string
}

func dds(args ...string) *command {
	c := &command{Cmd: exec.Command(os.Args[0], args...), mark: strconv.FormatUint(rand.Uint64(), 36)}
	// A machine that runs many tests may not run a process for longer than the usual lease.
	c.Env = append(os.Environ(), asCommand+"=1", mark+"="+c.mark, "DDS_LEASE=20s")
	c.Stdout, c.Stderr = &c.out, &c.err
	return c
}

// run lets it run to its end, and checks its status.
func (c *command) run(t *testing.T, status int) *command {
	t.Helper()
	require.NoError(t, c.Start())
	c.await(t, status)
	return c
}

func (c *command) await(t *testing.T, status int) {
	t.Helper()
	late := time.AfterFunc(2*time.Minute, func() { _ = c.Process.Kill() })
	defer late.Stop()
	_ = c.Wait()
	require.Equal(t, status, c.ProcessState.ExitCode(), "%v\n%s%s", c.Args[1:], c.out.String(), c.err.String())
}

// processes are those that are alive and have the mark, the command itself included.
func (c *command) processes() (n int) {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range dirs {
		env, err := os.ReadFile(dir + "/environ") // empty for a zombie
		if err == nil && bytes.Contains(env, []byte(mark+"="+c.mark+"\x00")) {
			n++
		}
	}
	return n
}

func aDomain() string { return fmt.Sprint(1 + rand.Uint32N(1<<30)) }

// call runs a command line that starts nothing, in this process.
func call(t *testing.T, status int, args ...string) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	require.Equal(t, status, run(args, strings.NewReader(""), &out, &err), "%v\n%s%s", args, &out, &err)
	return out.String(), err.String()
}

func TestHelpTeaches(t *testing.T) {
	for _, args := range [][]string{{}, {"--help"}, {"-help"}, {"perf"}, {"perf", "--help"}, {"perf", "-help"}} {
		out, _ := call(t, exitOK, args...)
		assert.Contains(t, out, "dds perf run", "%v: a line to type", args)
		assert.Contains(t, out, "Available Commands:", "%v", args)
		assert.NotContains(t, out, "child", "%v: hidden", args)
	}
	list, _ := call(t, exitOK, "perf")
	for _, verb := range []string{"run", "pub", "sub", "ping", "pong", "peer", "sanity", "report"} {
		assert.Contains(t, list, "\n  "+verb+" ")
		help, _ := call(t, exitOK, "perf", verb, "-h")
		assert.Contains(t, help, "Flags:")
	}
}

func TestWrongUse(t *testing.T) {
	for _, line := range []string{
		"spin", "perf jump", "perf run now", "perf run --nothing", "perf run --size 1", "perf run --size x", "perf run --rate 0",
		"perf run --qos best", "perf run --transport udp", "perf run --readers 0", "perf run -o xml", "perf run --duration 0",
		"perf run --readers 1,2 --cpuprofile p", "perf run --keep 0", "perf sub --batch none", "perf sanity --max-latency 98=1ms",
		"perf sanity --max-lost -1", "perf report --runs 0", "perf pub --ring 3M",
		"perf pub --topics 0", "perf sub --subgroups 0", "perf sub --work -1s", "perf peer --listener --poll",
	} {
		out, err := call(t, exitUsage, strings.Fields(line)...)
		assert.Contains(t, err, "--help", "%s: where to find help", line)
		assert.Empty(t, out, line)
	}
}

func TestValuesThatAreNone(t *testing.T) {
	for line, want := range map[string]string{
		"perf pub -d abc":             `"abc" for "-d, --domain" flag: write a number from 0 to 4294967295`,
		"perf pub -d 4294967296":      `"4294967296" for "-d, --domain" flag: write a number from 0 to 4294967295`,
		"perf pub -D 5":               `"5" for "-D, --duration" flag: a time needs its unit: write 5s`,
		"perf pub -D soon":            `"soon" for "-D, --duration" flag: write a time with its unit, such as 5s or 200ms`,
		"perf pub -n x":               `"x" for "-n, --count" flag: write a number from 0`,
		"perf pub --readers x":        `"x" for "--readers" flag: write a number`,
		"perf run --readers 1,x":      `"1,x" for "--readers" flag: write a number`,
		"perf sub --max-cpu half":     `"half" for "--max-cpu" flag: write a number`,
		"perf pub --size x":           `"x" for "-s, --size" flag: size "x": write a number of bytes such as 128, 10K or 1M, below 2G`,
		"perf sub --max-latency 5us,": `latency limit ""`,
	} {
		_, err := call(t, exitUsage, strings.Fields(line)...)
		assert.Contains(t, err, want, line)
	}
}

func TestMisspelt(t *testing.T) {
	for line, hint := range map[string]string{
		"perf rn": "did you mean run?", "pref": "did you mean perf?", "qos shwo": "did you mean show?", "perf run --raeders 2": "did you mean --readers?",
		"perf xyz": "", "perf run --nothing": "", "perf chlid": "",
	} {
		_, err := call(t, exitUsage, strings.Fields(line)...)
		if hint == "" {
			assert.NotContains(t, err, "did you mean", line)
		} else {
			assert.Contains(t, err, hint, line)
		}
	}
}

func TestVersion(t *testing.T) {
	out, _ := call(t, exitOK, "--version")
	assert.Contains(t, out, "go1.")
}
