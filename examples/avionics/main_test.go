package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/examples/avionics/internal/model"
	"github.com/omg-dds-go/dds/examples/avionics/internal/report"
)

// program is the example, built once.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "avionics-test-")
	if err == nil {
		program = filepath.Join(dir, "avionics")
		var out []byte
		if out, err = exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the example:", err)
		os.Exit(1)
	}
	status := m.Run()
	if err := os.RemoveAll(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// limit bounds every run: none may hang. Nothing waits that long unless it fails.
const limit = 4 * time.Minute

// What the others do without a process that stands still is told by tests with the usual lease. In all others nobody is
// to be given up because a busy machine does not run it; who dies is not waited for.
const (
	usualLease = "500ms"
	noLease    = "10m"
)

// flying is a run under way.
type flying struct {
	t       *testing.T
	cmd     *exec.Cmd
	stdout  bytes.Buffer
	temp    string // where it makes its temporary directories
	lines   chan string
	drained chan struct{}

	mu     sync.Mutex
	stderr bytes.Buffer
	pids   map[string]int
}

var isProcess = regexp.MustCompile(`^(\w+) is process (\d+)$`)

// fly starts the example with -json, so that what is to be read is apart from what is to be watched.
func fly(t *testing.T, args ...string) *flying {
	t.Helper()
	return flyIn(t, t.TempDir(), noLease, args...)
}

// flyIn is fly with a place for temporary directories, and a lease.
func flyIn(t *testing.T, temp, lease string, args ...string) *flying {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	t.Cleanup(cancel)
	f := &flying{t: t, temp: temp, lines: make(chan string, 4096), drained: make(chan struct{}), pids: make(map[string]int)}
	f.cmd = exec.CommandContext(ctx, program, append([]string{"-json", "-timeout", "1m"}, args...)...)
	f.cmd.Env = append(os.Environ(), "TMPDIR="+f.temp, "DDS_LEASE="+lease)
	f.cmd.Stdout = &f.stdout
	stderr, err := f.cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, f.cmd.Start())
	go func() {
		defer close(f.drained)
		defer close(f.lines)
		in := bufio.NewScanner(stderr)
		for in.Scan() {
			f.mu.Lock()
			f.stderr.WriteString(in.Text() + "\n")
			if m := isProcess.FindStringSubmatch(in.Text()); m != nil {
				f.pids[m[1]], _ = strconv.Atoi(m[2])
			}
			f.mu.Unlock()
			f.lines <- in.Text()
		}
	}()
	return f
}

// until waits for a line that contains text.
func (f *flying) until(text string) (line string) {
	f.t.Helper()
	line, said := f.says(text)
	if !said {
		f.t.Fatalf("it ended without saying %q:\n%s", text, f.said())
	}
	return line
}

// untilAll waits for lines that contain each of the texts, in any order.
func (f *flying) untilAll(texts ...string) {
	f.t.Helper()
	for line := range f.lines {
		texts = slices.DeleteFunc(texts, func(text string) bool { return strings.Contains(line, text) })
		if len(texts) == 0 {
			return
		}
	}
	f.t.Fatalf("it ended without saying %q:\n%s", texts, f.said())
}

// says is until for what may not be said, as the run has its time.
func (f *flying) says(text string) (line string, said bool) {
	for line := range f.lines {
		if strings.Contains(line, text) {
			return line, true
		}
	}
	return "", false
}

// inTime flies again, a few times, as long as what follows from the clock is not as it should be: a machine with other
// work may not run a process for much of so short a run. What else is wrong fails at once.
func inTime(fly func() bool) {
	for try := 1; !fly() && try < 15; try++ {
	}
}

// around tells whether a number of samples is what the clock gives.
func around(n, want, delta uint64) bool { return n >= want-delta && n <= want+delta }

func (f *flying) said() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.stderr.String()
}

func (f *flying) pid(role string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.pids[role]
}

// end waits for the end of the run, and checks its status and that nothing of it remains.
func (f *flying) end(status int) *report.Summary {
	f.t.Helper()
	<-f.drained
	err := f.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		f.t.Fatal(err)
	}
	require.Equal(f.t, status, f.cmd.ProcessState.ExitCode(), "exit status; it said:\n%s\n%s", f.said(), f.stdout.String())
	f.nothingRemains()
	if f.stdout.Len() == 0 {
		return nil
	}
	s := new(report.Summary)
	require.NoError(f.t, json.Unmarshal(f.stdout.Bytes(), s), f.stdout.String())
	return s
}

// nothingRemains: no process, and no file in the temporary directory. Shared memory has no name that could remain.
func (f *flying) nothingRemains() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for role, pid := range f.pids {
		assert.False(f.t, running(pid), "%s, process %d, still runs", role, pid)
	}
	left, err := os.ReadDir(f.temp)
	require.NoError(f.t, err)
	assert.Empty(f.t, left, "files that remain")
}

// running tells whether there is such a process that is not just waiting to be buried.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !os.IsNotExist(err) || syscall.Kill(pid, 0) == nil
	}
	_, after, _ := bytes.Cut(stat, []byte(") "))
	return !bytes.HasPrefix(after, []byte("Z"))
}

func topicOf(t *testing.T, s *report.Summary, name string) report.Topic {
	t.Helper()
	for _, row := range s.Topics {
		if row.Topic == name {
			return row
		}
	}
	t.Fatalf("no topic %s in %+v", name, s.Topics)
	return report.Topic{}
}

// requireAll checks that both displays and the fms have all n samples of a topic, in one order.
func requireAll(t *testing.T, s *report.Summary, name string, n uint64) {
	t.Helper()
	row := topicOf(t, s, name)
	require.Equal(t, n, row.Published, name)
	for _, sub := range row.Subscribers {
		require.Equal(t, []uint64{n, 0, 0, 0, 0}, []uint64{sub.Delivered, sub.Lost, sub.Duplicated, sub.Reordered, sub.Rejected}, "%s at %s", name, sub.Process)
		require.Equal(t, row.Subscribers[0].Digest, sub.Digest)
	}
}

func TestTransports(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			var s *report.Summary
			inTime(func() bool {
				s = fly(t, "-duration", "2s", "-transport", transport).end(0)
				return around(topicOf(t, s, "AirData").Published, 400, 60) && around(topicOf(t, s, "Position").Published, 20, 5)
			})
			require.Equal(t, "ok", s.Verdict)
			assert.True(t, s.Synthetic)
			for name, path := range map[string]string{
				"AirData": "unordered", "Position": "atomic", "TrafficReport": "volatile storage", "Advisory": "atomic", "FlightLog": "logged",
			} {
				row := topicOf(t, s, name)
				assert.Equal(t, path, row.Path)
				if path != "unordered" {
					requireAll(t, s, name, row.Published)
				}
			}
			assert.True(t, around(topicOf(t, s, "AirData").Published, 400, 60), "two computers, a hundred a second")
			assert.True(t, around(topicOf(t, s, "Position").Published, 20, 5))
			require.Len(t, s.Logs, 3)
			for _, l := range s.Logs {
				assert.True(t, l.Equal, "%+v", l)
				assert.NotZero(t, l.Records)
			}
		})
	}
}

// writeInputs makes a flight and a feed, with lines in them that can not be read.
func writeInputs(t *testing.T, fixes, messages int) (flight, feed string) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	b.WriteString("AXXX001\nHFDTE010630\nB12:00 this is no fix at all, far from it\n")
	for i := range fixes {
		fmt.Fprintf(&b, "B%02d%02d%02d47%05dN00830000EA0100001100\n", 10+i/3600, i/60%60, i%60, 10000+i%40000)
	}
	flight = filepath.Join(dir, "flight.igc")
	require.NoError(t, os.WriteFile(flight, []byte(b.String()), 0o600))
	feed = filepath.Join(dir, "feed.sbs1")
	text := "MSG,9,oops\n" + strings.Join(feedLines(messages), "") + "half a li"
	require.NoError(t, os.WriteFile(feed, []byte(text), 0o600))
	return flight, feed
}

// feedLines is what the model's transponders say, as a receiver serves it.
func feedLines(n int) []string {
	traffic := model.NewTraffic(5, 20)
	lines := make([]string, n)
	for i := range lines {
		_, m := traffic.Next()
		lines[i] = string(m.AppendLine(nil)) + "\r\n"
	}
	return lines
}

func TestEveryRecordOfTheInputsArrives(t *testing.T) {
	t.Parallel()
	flight, feed := writeInputs(t, 3000, 5000)
	s := fly(t, "-flight", flight, "-sbs1", feed, "-speed", "max").end(0)
	requireAll(t, s, "Position", 3000)
	requireAll(t, s, "TrafficReport", 5000)
	require.Len(t, s.Inputs, 2)
	nav, traffic := s.Inputs[0], s.Inputs[1]
	assert.Equal(t, []any{3003, 3000, 1, true}, []any{nav.Read, nav.Used, nav.Malformed, nav.Complete})
	assert.Contains(t, nav.Named[0], "line 3: ")
	assert.Equal(t, []any{5002, 5000, 2, true}, []any{traffic.Read, traffic.Used, traffic.Malformed, traffic.Complete})
	assert.Contains(t, traffic.Named[0], "line 1: 3 fields")
	assert.Contains(t, traffic.Named[1], `line 5002: it begins with "half a li"`)
	assert.False(t, s.Synthetic)
}

// A line that does not end for a hundred gigabytes neither fills the memory nor outlasts -duration. The file is sparse.
func TestEndlessLineEndsWithTheRun(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "endless.sbs1")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(feedLines(50), "")), 0o600))
	if err := os.Truncate(path, 100<<30); err != nil {
		t.Skipf("no sparse files here: %v", err)
	}
	var s *report.Summary
	inTime(func() bool { // to read as far as the endless line
		s = fly(t, "-sbs1", path, "-speed", "max", "-duration", "500ms").end(0)
		return topicOf(t, s, "TrafficReport").Published == 50
	})
	requireAll(t, s, "TrafficReport", 50)
	assert.False(t, s.Inputs[0].Complete)
}

// The verdict is not always ok: readers that keep only the last report of each aircraft do not see them all.
func TestVerdictFailsWhereSamplesAreMissing(t *testing.T) {
	t.Parallel()
	const readers = `<datareader_qos>
        <durability><kind>TRANSIENT_LOCAL_DURABILITY_QOS</kind></durability>`
	require.Contains(t, qosFile, readers)
	forgetful := filepath.Join(t.TempDir(), "forgetful.xml")
	text := strings.Replace(qosFile, readers, readers+"<history><kind>KEEP_LAST_HISTORY_QOS</kind><depth>1</depth></history>", 1)
	require.NoError(t, os.WriteFile(forgetful, []byte(text), 0o600))
	flight, feed := writeInputs(t, 100, 20_000)
	const missing = "of 20000 samples of TrafficReport are missing"
	findings := ""
	inTime(func() bool { // of a reader that stood still it is told in other words
		s := fly(t, "-flight", flight, "-sbs1", feed, "-speed", "max", "-qos", forgetful).end(1)
		assert.Equal(t, "failed", s.Verdict)
		findings = strings.Join(s.Findings, "\n")
		return strings.Contains(findings, missing)
	})
	assert.Contains(t, findings, missing)
}

// recordings gives the recorded inputs that may lie beside the repository.
func recordings(t *testing.T) (flight, feed string) {
	t.Helper()
	dir := filepath.Join("..", "..", "..", "shared", "data")
	flight, feed = filepath.Join(dir, "glider-flight.igc"), filepath.Join(dir, "adsb-recording.sbs1")
	for _, path := range []string{flight, feed} {
		if _, err := os.Stat(path); err != nil {
			t.Skipf("the recordings are not beside this repository: %v", err)
		}
	}
	return flight, feed
}

// The recordings arrive complete, and with the same digests whatever carries them.
func TestRecordings(t *testing.T) {
	t.Parallel()
	flight, feed := recordings(t)
	digests := make(map[string]string)
	for _, transport := range []string{"shm", "tcp"} {
		s := fly(t, "-flight", flight, "-sbs1", feed, "-speed", "max", "-transport", transport).end(0)
		requireAll(t, s, "Position", 8154)
		requireAll(t, s, "TrafficReport", 15_000)
		t.Logf("%s: %.0f reliable samples published and %.0f delivered a second", transport, s.PublishedPerSec, s.DeliveredPerSec)
		for _, name := range []string{"Position", "TrafficReport"} {
			digest := topicOf(t, s, name).Subscribers[0].Digest
			if before := digests[name]; before != "" {
				assert.Equal(t, before, digest, "%s over %s", name, transport)
			}
			digests[name] = digest
		}
	}
}

// serve serves a feed to one connection after the other, and is gone after the last.
func serve(t *testing.T, parts ...string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.Close()
		for i, part := range parts {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if i == len(parts)-1 {
				_ = l.Close() // before the connection ends: who comes again then is refused, however late this goroutine is
			}
			for line := range strings.SplitAfterSeq(part, "\n") {
				if _, err := io.WriteString(conn, line); err != nil {
					break
				}
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}

func TestLiveFeedIsCutAndResumed(t *testing.T) {
	t.Parallel()
	lines := feedLines(6000)
	all := strings.Join(lines, "")
	at := func(line, more int) int { return len(strings.Join(lines[:line], "")) + more }
	addr := serve(t,
		all[:at(2000, 33)],             // cut in the middle of a line
		all[at(2000, 33):at(3500, 20)], // continued with the next byte; cut again
		all[at(3497, 0):at(4000, 0)],   // three complete lines again, and the one that was cut; cut between lines
		all[at(4000, 0):])
	flight, _ := writeInputs(t, 100, 1)
	s := fly(t, "-flight", flight, "-sbs1", addr, "-speed", "max", "-sbs1-wait", "3s").end(0)
	requireAll(t, s, "TrafficReport", 6000)
	in := s.Inputs[1]
	assert.Equal(t, []any{6000, 6000, 0, 3, 4}, []any{in.Read, in.Used, in.Malformed, in.Resent, in.Connected})
}

func TestLateDisplayGetsTheWholePicture(t *testing.T) {
	t.Parallel()
	f := fly(t, "-duration", "3s", "-late-display", "1500ms")
	f.until("display2: joined late; the traffic picture has 12 aircraft")
	s := f.end(0)
	for _, sub := range topicOf(t, s, "TrafficReport").Subscribers {
		assert.Equal(t, sub.Process == "display2", sub.Late)
		if sub.Late {
			assert.Less(t, sub.Delivered, topicOf(t, s, "TrafficReport").Published)
			assert.GreaterOrEqual(t, sub.Delivered, uint64(12))
		}
	}
}

func TestStandbyTakesOver(t *testing.T) {
	t.Parallel()
	var air report.Topic
	taken := false
	inTime(func() bool {
		f := fly(t, "-duration", "2500ms", "-adc1-off", "500ms")
		_, taken = f.says("adc1: falls silent")
		if taken {
			_, taken = f.says("fms: air data from computer 2, no longer from computer 1")
		}
		air = topicOf(t, f.end(0), "AirData")
		return taken && !slices.ContainsFunc(air.Subscribers, func(sub report.Subscriber) bool { return sub.Delivered <= air.By["adc1"] })
	})
	assert.True(t, taken)
	assert.InDelta(t, 50, air.By["adc1"], 2)
	for _, sub := range air.Subscribers {
		assert.Greater(t, sub.Delivered, air.By["adc1"], sub.Process)
		assert.Less(t, sub.Delivered, air.Published, "what the standby said before was not seen by %s", sub.Process)
	}
}

// A process that dies by itself is a finding. The others go on, and are judged.
func TestKilledProcessIsNamed(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"display1", "nav"} {
		var reports report.Topic
		inTime(func() bool {
			f := fly(t, "-duration", "2500ms")
			f.until("the run begins")
			require.NoError(t, syscall.Kill(f.pid(role), syscall.SIGKILL))
			named := fmt.Sprintf("%s (process %d) was killed by a signal (killed) in the middle of the run", role, f.pid(role))
			f.until(named + "; the others go on")
			s := f.end(1)
			assert.Equal(t, []string{named}, s.Findings)
			reports = topicOf(t, s, "TrafficReport")
			return around(reports.Published, 140, 60)
		})
		assert.True(t, around(reports.Published, 140, 60))
		for _, sub := range reports.Subscribers {
			assert.Equal(t, reports.Published, sub.Delivered, sub.Process)
		}
	}
}

var goneOn = regexp.MustCompile(`delivered again (\S+) after the end of (\w+),`)

// soon is when the others have to deliver again after the death of a process.
func soon(role string) time.Duration {
	switch role {
	case "adc1", "adc2":
		return time.Second // the DEADLINE of those who read AirData
	case "nav", "traffic":
		return limit // what they publish nobody else does: that takes until they are started again
	}
	return 5 * time.Second
}

// Every process is killed once at least and started again, and nothing is lost, doubled or out of order at anybody.
func TestChaos(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			f := fly(t, "-chaos", "100ms", "-duration", "10m", "-seed", "7", "-transport", transport)
			// Each is killed until the others have gone on soon enough once: what else the machine does only makes it later.
			best := make(map[string]time.Duration)
			for n := 0; n < 7 || n < 35 && slices.ContainsFunc(slices.Collect(maps.Keys(best)), func(role string) bool { return best[role] >= soon(role) }); n++ {
				m := goneOn.FindStringSubmatch(f.until("and had joined and caught up"))
				require.NotNil(t, m)
				again, err := time.ParseDuration(m[1])
				require.NoError(t, err)
				if before, is := best[m[2]]; !is || again < before {
					best[m[2]] = again
				}
			}
			require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
			s := f.end(0)
			assert.Equal(t, "ok", s.Verdict)
			for _, k := range s.Kills {
				assert.Positive(t, k.Back, k.Role)
			}
			assert.Len(t, best, 7, "%+v", s.Kills)
			for role, again := range best {
				assert.Less(t, again, soon(role), role)
			}
		})
	}
}

// Half of the victims are stopped until the others have gone on without them, and then let go on.
func TestChaosOfStops(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			f := flyIn(t, t.TempDir(), usualLease, "-chaos", "100ms", "-chaos-stop", "-duration", "10m", "-seed", "3", "-transport", transport)
			for range 6 {
				f.until("and had joined and caught up")
			}
			require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
			s := f.end(0)
			assert.Equal(t, "ok", s.Verdict)
			stopped := 0
			for _, k := range s.Kills {
				if k.Stopped {
					stopped++
				}
			}
			assert.Positive(t, stopped)
			assert.Less(t, stopped, len(s.Kills))
		})
	}
}

// Who is let go on before anybody has missed it is waited for by nobody.
func TestChaosOfStopsThatNobodyMisses(t *testing.T) {
	t.Parallel()
	f := fly(t, "-chaos", "100ms", "-chaos-stop", "-duration", "10m", "-seed", "3")
	for stopped := false; !stopped; {
		stopped = strings.Contains(f.until("and had joined and caught up"), "after the stop of")
	}
	require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
	assert.Equal(t, "ok", f.end(0).Verdict)
}

// The others go on without a display that stands still, and its report is missed at the end: it is named, and nobody else.
func TestStoppedDisplayIsNamed(t *testing.T) {
	t.Parallel()
	var position report.Topic
	inTime(func() bool {
		f := flyIn(t, t.TempDir(), usualLease, "-duration", "3s", "-timeout", "8s")
		f.until("the run begins")
		require.NoError(t, syscall.Kill(f.pid("display1"), syscall.SIGSTOP))
		s := f.end(1)
		require.NotEmpty(t, s.Findings)
		assert.Contains(t, s.Findings[0], fmt.Sprintf("display1 (process %d) is stopped, by a signal or a debugger, and has given no sign of life for ", f.pid("display1")))
		position = topicOf(t, s, "Position")
		return around(position.Published, 30, 5)
	})
	assert.True(t, around(position.Published, 30, 5), "nobody waited for it")
}

func TestStoppedDisplayIsMissedAndComesBack(t *testing.T) {
	t.Parallel()
	f := flyIn(t, t.TempDir(), usualLease, "-duration", "10m")
	f.until("the run begins")
	require.NoError(t, syscall.Kill(f.pid("display2"), syscall.SIGSTOP))
	f.until(fmt.Sprintf("nothing is heard of display2 (process %d) for 4s: it is stopped, by a signal or a debugger", f.pid("display2")))
	require.NoError(t, syscall.Kill(f.pid("display2"), syscall.SIGCONT))
	f.until("display2 is there again")
	f.until("display2: was away and has joined again")
	require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
	s := f.end(0)
	assert.Equal(t, "ok", s.Verdict)
	position := topicOf(t, s, "Position")
	assert.GreaterOrEqual(t, position.Published, uint64(40), "nobody waited for it")
	for _, sub := range position.Subscribers {
		if sub.Process == "display2" {
			assert.True(t, sub.Away)
			assert.Less(t, sub.Delivered, position.Published)
		}
	}
}

// What is published while all who read it stand still nobody gets, and that is no fault of its writer's.
func TestNobodyReadsForAWhile(t *testing.T) {
	t.Parallel()
	displays := []string{"display1", "display2"}
	unheard := false
	inTime(func() bool { // an Advisory may come at another time, and a busy machine not run its writer, which then is away, too
		f := flyIn(t, t.TempDir(), usualLease, "-duration", "10m", "-seed", "3")
		f.until("the run begins")
		for _, role := range displays {
			require.NoError(t, syscall.Kill(f.pid(role), syscall.SIGSTOP))
		}
		f.untilAll("nothing is heard of display1", "nothing is heard of display2")
		for _, role := range displays {
			require.NoError(t, syscall.Kill(f.pid(role), syscall.SIGCONT))
		}
		f.untilAll("display1: was away and has joined again", "display2: was away and has joined again")
		require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
		s := f.end(0)
		assert.Equal(t, "ok", s.Verdict)
		advisory := topicOf(t, s, "Advisory")
		unheard = !slices.ContainsFunc(advisory.Subscribers, func(sub report.Subscriber) bool { return !sub.Away || sub.Delivered >= advisory.Published })
		return unheard
	})
	assert.True(t, unheard)
}

func TestInterruptEndsInOrder(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{os.Interrupt, syscall.SIGQUIT} {
		f := fly(t, "-duration", "10m")
		f.until("the run begins")
		require.NoError(t, f.cmd.Process.Signal(signal))
		f.until("ending the run")
		s := f.end(0)
		assert.Equal(t, "ok", s.Verdict)
	}
}

func TestSecondRunInADomainIsRefused(t *testing.T) {
	t.Parallel()
	domain := strconv.Itoa(os.Getpid()<<8 | 1<<30) // no other test process has it
	f := fly(t, "-duration", "10m", "-domain", domain)
	f.until("the run begins")
	second := fly(t, "-duration", "1s", "-domain", domain)
	assert.Nil(t, second.end(1), "it does not begin")
	assert.Contains(t, second.said(), "another run of this program is in domain "+domain)
	require.NoError(t, f.cmd.Process.Signal(os.Interrupt))
	assert.Equal(t, "ok", f.end(0).Verdict)
}

func TestNoProcessOutlivesTheConductor(t *testing.T) {
	t.Parallel()
	f := fly(t, "-duration", "10m")
	f.until("the run begins")
	require.NoError(t, f.cmd.Process.Kill())
	<-f.drained
	_ = f.cmd.Wait() // killed
	require.Eventually(t, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, pid := range f.pids {
			if running(pid) {
				return false
			}
		}
		return len(f.pids) == 7
	}, limit, 10*time.Millisecond)

	// It could not remove its directory; the next run does.
	left, err := os.ReadDir(f.temp)
	require.NoError(t, err)
	require.Len(t, left, 1)
	lock, err := os.Open(filepath.Join(f.temp, left[0].Name(), "avionics.lock"))
	require.NoError(t, err)
	require.NoError(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_EX), "free when the last thread of the last process has gone")
	require.NoError(t, lock.Close())
	next := flyIn(t, f.temp, noLease, "-duration", "300ms")
	next.until("removed " + filepath.Join(f.temp, left[0].Name()))
	next.end(0)
}

func TestWhatCanNotRunSaysWhy(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	noFlight := write("photo.igc", "not a flight\n")
	badQoS := write("bad.xml", `<dds><qos_library name="Avionics"><qos_profile name="Ordered"><publisher_qos><presentashun/></publisher_qos></qos_profile></qos_library></dds>`)
	incompatible := write("incompatible.xml", strings.NewReplacer(`<qos_profile name="Position" base_name="Reliable">`,
		`<qos_profile name="Position" base_name="Reliable"><datareader_qos><deadline><period><sec>1</sec><nanosec>0</nanosec></period></deadline></datareader_qos></qos_profile>
		<qos_profile name="AsBefore" base_name="Reliable">`,
		`<qos_profile name="Advisory" base_name="Position"/>`, `<qos_profile name="Advisory" base_name="AsBefore"/>`, // or which of the two is noticed first would be chance
	).Replace(qosFile))
	file := write("file", "")
	fifo := filepath.Join(dir, "fifo")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"unknown transport", []string{"-transport", "pigeon"}, 2, `-transport "pigeon" is not known; use shm or tcp`},
		{"unknown flag", []string{"-sped", "max"}, 2, "-sped"},
		{"bad speed", []string{"-speed", "-1"}, 2, "or max\nRun with -help for help.\n"},
		{"an argument", []string{"recording.igc"}, 2, `unexpected argument "recording.igc"`},
		{"missing file", []string{"-flight", "/does/not/exist.igc"}, 2, "/does/not/exist.igc: no such file"},
		{"a FIFO that nobody writes to", []string{"-sbs1", fifo}, 2, "fifo is a pipe: not a regular file"},
		{"late after the end", []string{"-duration", "1s", "-late-display", "2s"}, 2, "not before the end"},
		{"stops without chaos", []string{"-chaos-stop"}, 2, "-chaos-stop stops nothing without -chaos"},
		{"help", []string{"-h"}, 0, "Exit status: 0 verdict ok"},
		{"no flight in the file", []string{"-flight", noFlight}, 1, "photo.igc: no fix: none of 1 lines"},
		{"bad QoS", []string{"-qos", badQoS}, 1, "bad.xml:1:"},
		{"incompatible QoS", []string{"-qos", incompatible}, 1, "of Position is incompatible with that of a peer: DEADLINE: offered "},
		{"-dir is a file", []string{"-dir", file}, 1, "-dir: mkdir"},
		{"nothing but junk in the recording", []string{"-sbs1", noFlight, "-speed", "max"}, 1, "photo.igc was used: of 1 lines 1 were malformed and 0 of other kinds"},
		{"nothing at all in the recording", []string{"-sbs1", file, "-speed", "max"}, 1, "file was used: no line came"},
		{"nobody served the feed yet", []string{"-sbs1", "127.0.0.1:1", "-duration", "300ms"}, 1, "127.0.0.1:1 was used: nobody answered there before the run ended"},
		{"nobody serves the feed", []string{"-sbs1", "127.0.0.1:1", "-sbs1-wait", "50ms"}, 1, "connecting to 127.0.0.1:1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := fly(t, c.args...)
			s := f.end(c.status)
			said := f.said()
			if s != nil {
				said += strings.Join(s.Findings, "\n")
			}
			assert.Contains(t, said, c.says)
		})
	}
}

// Whoever reads the output may go away: the run still ends in order.
func TestOutputThatNobodyReads(t *testing.T) {
	t.Parallel()
	read, write, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, read.Close())
	temp := t.TempDir()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "-duration", "300ms")
	cmd.Env = append(os.Environ(), "TMPDIR="+temp, "DDS_LEASE="+noLease)
	cmd.Stdout = write
	var stderr strings.Builder
	cmd.Stderr = &stderr
	require.NoError(t, cmd.Start())
	require.NoError(t, write.Close())
	require.Error(t, cmd.Wait())
	assert.Equal(t, 1, cmd.ProcessState.ExitCode(), "nobody got the verdict")
	assert.Contains(t, stderr.String(), "broken pipe")
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The logs of -dir stay, in a directory for each run; the table tells where.
func TestDirKeepsTheLogs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for range 2 {
		s := fly(t, "-duration", "300ms", "-dir", dir).end(0)
		assert.DirExists(t, filepath.Join(s.Dir, "fms"))
		assert.Equal(t, dir, filepath.Dir(s.Dir))
	}
	runs, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, runs, 2)
}
