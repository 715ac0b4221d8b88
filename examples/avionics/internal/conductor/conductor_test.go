package conductor

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/control"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/storage"
)

func TestOptions(t *testing.T) {
	o, err := Parse(nil, io.Discard)
	require.NoError(t, err)
	assert.Equal(t, 10*time.Second, o.Duration, "a demonstration ends")
	assert.Equal(t, 1.0, o.Speed)
	assert.Equal(t, uint(domainBase+os.Getpid()), o.Domain)

	o, err = Parse([]string{"-speed", "max"}, io.Discard)
	require.NoError(t, err)
	assert.Zero(t, o.Duration, "the synthetic scenario ends by itself")
	assert.Equal(t, "max", o.speedText())

	o, err = Parse([]string{"-sbs1", "localhost:30003", "-speed", "2.5"}, io.Discard)
	require.NoError(t, err)
	assert.Zero(t, o.Duration, "a live feed goes on")
	assert.Equal(t, "2.5", o.speedText())

	var help strings.Builder
	_, err = Parse([]string{"-h"}, &help)
	assert.ErrorIs(t, err, flag.ErrHelp)
	for _, name := range []string{"-flight", "-sbs1", "-speed", "-duration", "-dir", "-transport", "-json", "-late-display"} {
		assert.Contains(t, help.String(), name)
	}
	for _, line := range strings.Split(usage, "\n") {
		assert.LessOrEqual(t, len(line), 120)
	}
}

func TestWrongOptions(t *testing.T) {
	for args, want := range map[string]string{
		"-speed 0":                      `invalid value "0" for flag -speed: want a number above 0 and up to 1000000, or max`,
		"-duration forever":             `invalid value "forever" for flag -duration: parse error: want a time with its unit, such as 5s.`,
		"-sbs1-wait 5":                  `invalid value "5" for flag -sbs1-wait: parse error: want a time with its unit, such as 5s.`,
		"-sped max":                     "flag provided but not defined: -sped",
		"-traffik 9":                    "flag provided but not defined: -traffik, did you mean -traffic?",
		"-speed":                        "flag needs an argument: -speed",
		"-traffic many":                 "invalid value \"many\" for flag -traffic: parse error\n",
		"-speed NaN":                    "or max",
		"-traffic 0":                    "-traffic 0 is not between 1 and 200",
		"-duration -1s":                 "can not be negative",
		"-timeout 0s":                   "must be positive",
		"-qos .":                        "-qos: . is a directory: not a regular file",
		"-domain 99999999999":           "-domain 99999999999 is above",
		"-transport udp":                `-transport "udp" is not known; use shm or tcp`,
		"-duration 2s -late-display 2s": "not before the end of the run",
		"-sbs1 no-such-recording":       "-sbs1: open no-such-recording: no such file",
		"-sbs1 /dev/zero":               "-sbs1: /dev/zero is a device: not a regular file; give the path of a recording",
		"-flight /dev/zero":             "-flight: /dev/zero is a device",
		"somewhere":                     `unexpected argument "somewhere"`,
	} {
		var errs strings.Builder
		_, err := Parse(strings.Fields(args), &errs)
		require.Error(t, err, args)
		assert.Contains(t, errs.String(), want)
		said := strings.Split(errs.String(), "\n")
		require.Len(t, said, 3, "a line and a hint, not the whole help")
		assert.Equal(t, "Run with -help for help.", said[1])
	}
}

func TestOneRunInADomain(t *testing.T) {
	domain := uint32(domainBase + os.Getpid())
	release, err := claimDomain(domain)
	require.NoError(t, err)
	_, err = claimDomain(domain)
	require.ErrorContains(t, err, fmt.Sprintf("another run of this program is in domain %d; ", domain))
	other, err := claimDomain(domain + 1)
	require.NoError(t, err)
	other()
	release()
	release, err = claimDomain(domain)
	require.NoError(t, err)
	release()
}

func TestScreenKeepsTablesInPlace(t *testing.T) {
	var out strings.Builder
	s := &screen{out: &out, live: true, frames: map[string][]string{}, size: func() (int, int) { return 12, 24 }}
	s.frame("display1", []string{"one", "a line that is far too long"})
	assert.Equal(t, "--- display1\none\na line that \n", out.String())
	out.Reset()
	s.frame("display2", []string{"two"})
	assert.Equal(t, "\x1b[3A\x1b[J--- display1\none\na line that \n--- display2\ntwo\n", out.String())
	out.Reset()
	s.say("note %d", 1)
	assert.True(t, strings.HasPrefix(out.String(), "\x1b[5A\x1b[Jnote 1\n--- display1\n"), "%q", out.String())
	out.Reset()
	s.size = func() (int, int) { return 12, 5 }
	s.redraw()
	assert.Equal(t, "\x1b[5A\x1b[J--- display1\none\n--- display2\ntwo\n", out.String(), "a low terminal")
	out.Reset()
	s.leave()
	s.say("the table")
	assert.Equal(t, "the table\n", out.String(), "what stands is left alone")

	out.Reset()
	plain := &screen{out: &out}
	plain.frame("display1", []string{"one"})
	plain.say("note")
	assert.Equal(t, "display1  one\nnote\n", out.String())
}

func TestScreenOfAFileIsNotLive(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	require.NoError(t, err)
	defer f.Close()
	s := newScreen(f)
	assert.False(t, s.live)
	w, h := s.size()
	assert.Equal(t, []int{80, 24}, []int{w, h})
}

// A signal that hits a process first, which has just been forked, is not told as the failure of that process.
func TestSignalBeforeTheRunBegins(t *testing.T) {
	for range 20 { // whichever is noticed first
		signals := make(chan os.Signal, 1)
		signals <- os.Interrupt
		c := &conductor{
			crew: newCrew("/bin/false", io.Discard), screen: &screen{out: io.Discard}, signals: signals,
			watch: watch{}, failed: map[string]bool{}, book: new(ledger.Book), opts: Options{Timeout: time.Minute},
		}
		_, err := c.conduct()
		c.conclude(err)
		c.crew.dismiss(patience)
		require.Equal(t, []string{"ended by a signal (interrupt) before the run began"}, c.problems)
	}
}

// What is told of several bad ends is the one that began them.
func TestExplainFindsTheCause(t *testing.T) {
	c := &conductor{crew: newCrew("", io.Discard)}
	for i, role := range allRoles {
		c.crew.members[role] = &member{role: role, cmd: &exec.Cmd{Process: &os.Process{Pid: 100 + i}}}
	}
	killed := exec.Command("sh", "-c", "kill -9 $$").Run()
	failed := func(role, text string) happening {
		return happening{member: c.crew.members[role], event: &control.Event{Kind: control.Failed, Text: text}}
	}
	assert.Equal(t, []string{"display1 (process 101) was killed by a signal (killed) in the middle of the run"},
		c.explain([]happening{failed("fms", "peer lost"), {member: c.crew.members["display1"], exit: killed}, {member: c.crew.members["fms"], exit: errors.New("exit status 1")}}))
	assert.Equal(t, []string{"nav (process 105) failed: no fix"},
		c.explain([]happening{failed("nav", "no fix"), {member: c.crew.members["nav"], exit: errors.New("exit status 1")}}))
	assert.Equal(t, []string{"adc1 (process 103) ended in the middle of the run: exit status 2"},
		c.explain([]happening{{member: c.crew.members["adc1"], exit: errors.New("exit status 2")}}))
	assert.Equal(t, []string{"adc1 (process 103) left in the middle of the run"}, c.explain([]happening{{member: c.crew.members["adc1"]}}))
}

func TestReadLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	log, _, err := storage.Open(dir, storage.Options{})
	require.NoError(t, err)
	var want []ledger.Stored
	for n := range uint64(5) {
		sample, err := cdr.Marshal(&avionics.FlightLog{Aircraft: "X", Number: n + 1, Text: "event"}, cdr.DefaultEncapsulation((*avionics.FlightLog)(nil).CDRType()))
		require.NoError(t, err)
		require.NoError(t, log.Append(&storage.Record{Version: storage.Version{Epoch: 1, Seq: n + 1}, Kind: 1, Payload: sample}))
		want = append(want, ledger.Stored{Number: n + 1, Sum: ledger.Sum(sample)})
	}
	require.NoError(t, log.Append(&storage.Record{Version: storage.Version{Epoch: 1, Seq: 9}, Kind: 6}), "a writer that ends")
	require.NoError(t, log.Close())
	got, err := readLog(dir)
	require.NoError(t, err)
	assert.Equal(t, want, got)

	segments, err := filepath.Glob(filepath.Join(dir, "*"))
	require.NoError(t, err)
	for _, path := range segments {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		if at := bytes.Index(b, []byte("event")); at >= 0 {
			b[at] ^= 1
			require.NoError(t, os.WriteFile(path, b, 0o600))
		}
	}
	got, err = readLog(dir)
	assert.False(t, err == nil && slices.Equal(want, got), "a bit that was flipped on disk shows")
}

func TestReadLogOfNothing(t *testing.T) {
	stored, err := readLog(filepath.Join(t.TempDir(), "none"))
	assert.ErrorContains(t, err, "no such file or directory")
	assert.Empty(t, stored)
}
