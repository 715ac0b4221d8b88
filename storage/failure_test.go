package storage

import (
	"bufio"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// TestFailureIsFinal breaks each operation that a Sync does, repairs it, and expects that the log
// stays failed and that the next Open finds what was acknowledged.
func TestFailureIsFinal(t *testing.T) {
	broken := errors.New("the disk is broken")
	for _, tc := range []struct {
		op    vfs.Op
		after int
	}{
		{vfs.OpWrite, 0}, {vfs.OpWrite, 1}, {vfs.OpWrite, 2}, {vfs.OpSync, 0}, {vfs.OpSync, 1}, {vfs.OpSync, 2},
		{vfs.OpCreate, 0}, {vfs.OpPreallocate, 0}, {vfs.OpRename, 0}, {vfs.OpSyncDir, 0},
	} {
		t.Run(fmt.Sprintf("%s %d", tc.op, tc.after), func(t *testing.T) {
			faulty := vfs.NewFaulty(vfs.NewMem())
			o := Options{FS: faulty, SegmentBytes: minSegmentBytes, Go: atOnce}
			l, _, err := Open("log", o)
			noError(t, err)
			acked := appendAll(t, l, Version{}, 10, 20)
			_, err = l.Sync()
			noError(t, err)
			last := acked[1].Version
			all := append(acked, appendAll(t, l, last, 2900, 2900)...) // begins segments

			faulty.FailOp(tc.op, tc.after, broken)
			durable, err := l.Sync()
			errorIs(t, err, ErrFailed)
			errorIs(t, err, broken)
			equal(t, last, durable)
			if !strings.Contains(err.Error(), "log/00000000") && !strings.HasSuffix(err.Error(), "log: the disk is broken") {
				t.Errorf("%q does not name the file", err)
			}
			faulty.FailOp(tc.op, 0, nil) // the disk works again: too late
			_, again := l.Sync()
			equal(t, err, again)
			r := record(Version{9, 9}, 1)
			equal(t, err, l.Append(&r))
			equal(t, last, l.Durable())
			errorIs(t, l.Close(), ErrFailed)

			l, _, err = Open("log", o)
			noError(t, err)
			noError(t, l.Close())
			got, err := readAll("log", o, Version{})
			noError(t, err)
			m := model{appended: all, acked: 2}
			noError(t, m.check(got))
		})
	}
}

func TestFullDisk(t *testing.T) {
	faulty := vfs.NewFaulty(vfs.NewMem())
	o := Options{FS: faulty, SegmentBytes: minSegmentBytes, Go: atOnce}
	faulty.SetSpace(5000)
	_, _, err := Open("data/log", o)
	errorIs(t, err, syscall.ENOSPC)
	mustSay(t, err, "data/log/0000000001.seg.tmp", "no space left on device", "free space")

	faulty.SetSpace(minSegmentBytes + 10)
	l, _, err := Open("data/log", o)
	noError(t, err)
	want := appendAll(t, l, Version{}, 2900)
	_, err = l.Sync()
	noError(t, err) // room that is reserved
	appendAll(t, l, want[0].Version, 2900)
	_, err = l.Sync()
	errorIs(t, err, ErrFailed)
	errorIs(t, err, syscall.ENOSPC)
	mustSay(t, err, "data/log/0000000002.seg.tmp", "free space")
	names, err := faulty.List("data/log")
	noError(t, err)
	equal(t, []string{"0000000001.seg"}, names) // nothing that could not be used takes room
	errorIs(t, l.Close(), ErrFailed)

	faulty.SetSpace(-1)
	l, r, err := Open("data/log", o)
	noError(t, err)
	equal(t, want[0].Version, r.Last)
	noError(t, l.Close())
}

func mustSay(t *testing.T, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
}

// TestUnwritableDirectory does not use permission bits: they do not bind root.
func TestUnwritableDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	noError(t, os.WriteFile(file, []byte("mine"), 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		_, _, err := Open(dir, Options{})
		errorIs(t, err, syscall.ENOTDIR)
		mustSay(t, err, dir, "choose another log directory")
	}
	b, err := os.ReadFile(file)
	noError(t, err)
	equal(t, "mine", string(b))

	for _, tc := range []struct {
		err  error
		text string
	}{
		{syscall.EROFS, "read-only"}, {syscall.EACCES, "make the log directory writable"}, {syscall.EIO, "the device is failing"},
		{syscall.EDQUOT, "free space"},
	} {
		for at := 1; ; at++ { // each operation of Open
			faulty := vfs.NewFaulty(vfs.NewMem())
			faulty.FailAt(at, tc.err)
			l, _, err := Open("log", Options{FS: faulty, SegmentBytes: minSegmentBytes, Go: atOnce})
			if err == nil {
				faulty.FailAt(0, nil)
				noError(t, l.Close())
				equal(t, 8, at-1) // mkdir, lock, create, preallocate, write, sync, rename, syncdir
				break
			}
			errorIs(t, err, tc.err)
			mustSay(t, err, "log", tc.text)
			faulty.FailAt(0, nil)
			l, _, err = Open("log", Options{FS: faulty, SegmentBytes: minSegmentBytes, Go: atOnce})
			noError(t, err) // nothing is left locked or half made
			noError(t, l.Close())
		}
	}
}

// TestTwoProcesses has another process open the log, is refused, kills it, and goes on.
func TestTwoProcesses(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0], "-test.run=^TestHelperHoldsALog$")
	cmd.Env = append(os.Environ(), "STORAGE_TEST_LOG="+dir)
	out, err := cmd.StdoutPipe()
	noError(t, err)
	in, err := cmd.StdinPipe() // closes when this process ends, whatever happens
	noError(t, err)
	defer in.Close()
	noError(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	noError(t, err)
	equal(t, "ready\n", line)

	_, _, err = Open(dir, Options{})
	errorIs(t, err, ErrLocked)
	locked, _ := errors.AsType[*LockedError](err)
	equal(t, LockedError{dir, fmt.Sprintf("process %d", cmd.Process.Pid)}, *locked)
	mustSay(t, err, dir, locked.Owner, "stop it")
	r, err := Verify(dir, Options{}) // reading is allowed
	noError(t, err)
	equal(t, uint64(3), r.Records)

	noError(t, cmd.Process.Kill())
	_ = cmd.Wait() // killed
	l, r, err := Open(dir, Options{})
	noError(t, err)
	equal(t, uint64(3), r.Records)
	equal(t, false, r.Closed)
	_, _, err = Open(dir, Options{})
	errorIs(t, err, ErrLocked) // within one process too
	noError(t, l.Close())
}

// TestHelperHoldsALog is the other process of TestTwoProcesses.
func TestHelperHoldsALog(t *testing.T) {
	dir := os.Getenv("STORAGE_TEST_LOG")
	if dir == "" {
		t.Skip("runs as a process of TestTwoProcesses only")
	}
	l, _, err := Open(dir, Options{})
	noError(t, err)
	appendAll(t, l, Version{}, 1, 2, 3)
	_, err = l.Sync()
	noError(t, err)
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until killed, or until the parent is gone
}

var update = flag.Bool("update", false, "rewrite the files in testdata")

func TestDescribe(t *testing.T) {
	var out bytes.Buffer
	log := func(title string, images ...[]byte) {
		fmt.Fprintf(&out, "# %s\n", title)
		err := Describe(&out, "log", install(t, images...))
		if err != nil {
			errorIs(t, err, ErrCorrupt)
		}
		fmt.Fprintln(&out)
	}
	s := makeSample(t, 0xfeed, 10, 1100, -1, 1000, -1, 1000, 10, -1)
	equal(t, 2, len(s.closed))
	log("closed", s.closed...)
	log("not closed", s.crashed...)
	flip := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 1
		return b
	}
	log("torn in the last batch", s.crashed[0], flip(s.crashed[1], s.frames[1][0]+frameBytes))
	log("damaged", s.closed[0], flip(s.closed[1], s.frames[1][0]+frameBytes+recTimestamp))
	log("damaged header", flip(s.closed[0], hdrLog), s.closed[1])
	unsealed := bytes.Clone(s.crashed[0])
	clear(unsealed[s.frames[0][len(s.frames[0])-2]:])
	log("crashed between a new segment and the seal", unsealed, s.crashed[1][:headerBytes])
	log("crashed after the seal", s.crashed[0], s.crashed[1][:headerBytes])
	log("empty")

	const golden = "testdata/describe.txt"
	if *update {
		noError(t, os.MkdirAll("testdata", 0o755))
		noError(t, os.WriteFile(golden, out.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	noError(t, err)
	if out.String() != string(want) {
		t.Errorf("go test -run TestDescribe -update rewrites %s; got\n%s", golden, out.String())
	}
}
