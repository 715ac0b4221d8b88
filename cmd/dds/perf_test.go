package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

// short are the flags of a run that ends soon.
func short(verb string, args ...string) []string {
	return append([]string{"perf", verb, "--warmup", "5ms", "--count", "200"}, args...)
}

// peerFields are what programs over other implementations write too, so that one driver reads them all.
var peerFields = []string{
	"role", "impl", "size", "readers", "count", "seconds", "rate", "mbps", "lost",
	"p50_ns", "p90_ns", "p99_ns", "p999_ns", "p9999_ns", "max_ns", "cpu_user_s", "cpu_sys_s",
}

func TestRunPrintsJSON(t *testing.T) {
	out := dds(short("run", "-o", "json", "--transport", "shm,tcp", "--readers", "1,2")...).run(t, exitOK).out
	lines := json.NewDecoder(&out)
	for range 4 {
		var o experiment.Outcome
		require.NoError(t, lines.Decode(&o))
		require.Len(t, o.Writers, 1)
		require.NotEmpty(t, o.Readers)
		for _, r := range o.Readers {
			assert.Equal(t, bench.Sub, r.Role)
			assert.EqualValues(t, 200, r.Count)
			assert.Equal(t, len(o.Readers), r.Readers)
			assert.Positive(t, r.P50)
			assert.Positive(t, r.RSS)
		}
		assert.True(t, strings.HasPrefix(o.Command, "dds perf run "), o.Command)
	}
	assert.ErrorIs(t, lines.Decode(new(any)), io.EOF)
}

// What a run says is its command makes the same run.
func TestCommandOfARunIsACommand(t *testing.T) {
	ask := func(args ...string) (o experiment.Outcome) {
		out := dds(args...).run(t, exitOK).out
		require.NoError(t, json.Unmarshal(out.Bytes(), &o))
		return o
	}
	first := ask(short("run", "-o", "json", "--qos", "stored", "--size", "2K", "--rate", "50k", "--instances", "3", "--write", "copy",
		"--read", "copy", "--keep", "9", "--batch", "5", "--work", "1us", "--topic", "t", "--topics", "2", "--subgroups", "3", "--poll", "--spin", "--max-samples", "77", "--ring", "2M", "--writers", "2")...)
	again := ask(append(strings.Fields(first.Command)[1:], "-o", "json")...)
	assert.Equal(t, first.Command, again.Command)
	assert.Equal(t, first.Title, again.Title)
}

func TestRunPrintsCSV(t *testing.T) {
	out := dds(short("run", "-o", "csv", "--size", "128,1K", "--roundtrip")...).run(t, exitOK).out
	rows, err := csv.NewReader(&out).ReadAll()
	require.NoError(t, err)
	require.Len(t, rows, 1+2*2, "a line of names, and a ping and a pong for each size")
	column := map[string]int{}
	for i, name := range rows[0] {
		column[name] = i
	}
	// As rtiperftest names them.
	for _, name := range []string{"Length (Bytes)", "Total Samples", "Ave Samples/s", "Ave Mbps", "Lost Samples", "Lost Samples (%)",
		"Ave (us)", "Std (us)", "Min (us)", "Max (us)", "50% (us)", "90% (us)", "99% (us)", "99.99% (us)", "99.9999% (us)", "CPU (%)"} {
		require.Contains(t, column, name)
	}
	for i, length := range []string{"128", "128", "1024", "1024"} {
		assert.Equal(t, length, rows[i+1][column["Length (Bytes)"]])
		assert.Equal(t, "200", rows[i+1][column["Total Samples"]])
	}
	us, err := strconv.ParseFloat(rows[1][column["50% (us)"]], 64)
	require.NoError(t, err)
	assert.Positive(t, us)
	assert.Empty(t, rows[2][column["50% (us)"]], "a pong measures no latency")
}

func TestRunPrintsATable(t *testing.T) {
	out := dds(short("run", "--rate", "10k", "--readers", "1,2")...).run(t, exitOK).out.String()
	assert.Contains(t, out, "pub -> sub 1:2  shm  atomic  1K  rate 10k")
	assert.Equal(t, 3, strings.Count(out, "since due "), "a line for each reader")
	assert.Contains(t, out, "(the slowest reader; CPU of all processes)")
}

func TestRolesByHand(t *testing.T) {
	for _, transport := range []string{"shm", "tcp"} {
		for _, pair := range [][2]string{{"sub", "pub"}, {"pong", "ping"}} {
			t.Run(transport+" "+pair[1], func(t *testing.T) {
				domain := aDomain()
				listener := dds("perf", pair[0], "-o", "json", "-d", domain, "-t", transport)
				require.NoError(t, listener.Start())
				talker := dds(short(pair[1], "-o", "json", "-d", domain, "-t", transport)...).run(t, exitOK)
				listener.await(t, exitOK)
				for i, c := range []*command{listener, talker} {
					var fields map[string]any
					require.NoError(t, json.Unmarshal(c.out.Bytes(), &fields))
					for _, name := range peerFields {
						assert.Contains(t, fields, name)
					}
					assert.Equal(t, pair[i], fields["role"])
					assert.EqualValues(t, 200, fields["count"])
					assert.EqualValues(t, 0, fields["lost"])
				}
			})
		}
	}
}

func TestIntervals(t *testing.T) {
	domain := aDomain()
	sub := dds("perf", "sub", "-o", "csv", "-d", domain)
	require.NoError(t, sub.Start())
	pub := dds("perf", "pub", "-o", "json", "-d", domain, "--rate", "1k", "--warmup", "10ms", "--duration", "2200ms").run(t, exitOK)
	sub.await(t, exitOK)

	tables := strings.Split(sub.out.String(), "\n\n")
	require.Len(t, tables, 2, "intervals, and the whole: %s", sub.out.String())
	var rows [2][][]string
	for i := range rows {
		var err error
		rows[i], err = csv.NewReader(strings.NewReader(tables[i])).ReadAll()
		require.NoError(t, err)
	}
	// As rtiperftest names them.
	assert.Equal(t, []string{"Length (Bytes)", "Total Samples", "Samples/s", "Ave Samples/s", "Mbps", "Ave Mbps", "Lost Samples", "Lost Samples (%)"}, rows[0][0])
	require.GreaterOrEqual(t, len(rows[0]), 2)
	assert.Equal(t, []string{"1024", "0", "0.00"}, []string{rows[0][1][0], rows[0][1][6], rows[0][1][7]})
	require.Len(t, rows[1], 2)

	var whole bench.Result
	require.NoError(t, json.Unmarshal(pub.out.Bytes(), &whole))
	require.NotEmpty(t, whole.Intervals)
	last := whole.Intervals[len(whole.Intervals)-1]
	assert.LessOrEqual(t, last.Total, whole.Count)
	assert.Positive(t, last.Average)

	alone := dds("perf", "peer", "-o", "csv", "-d", aDomain(), "--no-intervals", "--rate", "1k", "--warmup", "10ms", "--duration", "1100ms").run(t, exitOK)
	one, err := csv.NewReader(&alone.out).ReadAll()
	require.NoError(t, err)
	assert.Len(t, one, 2)
}

func TestSanity(t *testing.T) {
	sanity := func(status int, args ...string) string {
		return dds(short("sanity", args...)...).run(t, status).err.String()
	}
	assert.Contains(t, sanity(exitOK, "--transport", "shm,tcp", "--rate", "10k"), "ok ")
	assert.Contains(t, sanity(exitOK, "--min-match", "1", "--min-rate", "1", "--max-latency", "50=1m,100=1m", "--max-rss", "1G", "--max-cpu", "10000"), "latency 50%")
	for _, fails := range [][]string{
		{"--min-match", "2"}, {"--min-rate", "1000M"}, {"--max-latency", "100=1ns"}, {"--min-samples", "201"}, {"--max-rss", "1K"},
		{"--roundtrip", "--max-latency", "1ns"},
	} {
		assert.Contains(t, sanity(exitCriteria, append(fails, "--rate", "10k")...), "FAIL")
	}
	assert.Contains(t, sanity(exitCriteria, "--qos", "unordered", "--rate", "max", "--max-samples", "1", "--count", "20000"), "lost")
}

func TestProfiles(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "prof")
	dds(short("run", "--cpuprofile", dir)...).run(t, exitOK)
	for _, name := range []string{"pub-1.pprof", "sub-1.pprof"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Positive(t, info.Size())
	}
}

// Whatever ends the command, it leaves no process behind; nor files, if it could do anything about it.
func TestNothingIsLeft(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		status int
	}{
		"Ctrl-C": {syscall.SIGINT, exitInterrupted}, "SIGTERM": {syscall.SIGTERM, exitInterrupted},
		"closed terminal": {syscall.SIGHUP, exitInterrupted}, "SIGKILL": {syscall.SIGKILL, -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(c.signal) { // and by the command then, too
				t.Skipf("these tests were started so that they ignore %v, by nohup say", c.signal)
			}
			run := dds("perf", "run", "--qos", "logged", "--rate", "100", "--readers", "2", "--duration", "1h")
			logs := t.TempDir()
			run.Env = append(run.Env, "TMPDIR="+logs)
			require.NoError(t, run.Start())
			assert.Eventually(t, func() bool { return run.processes() == 4 }, time.Minute, 10*time.Millisecond, "itself and three children")
			require.NoError(t, run.Process.Signal(c.signal))
			run.await(t, c.status)
			assert.Eventually(t, func() bool { return run.processes() == 0 }, time.Minute, 10*time.Millisecond)
			if c.status == exitInterrupted {
				left, err := os.ReadDir(logs)
				require.NoError(t, err)
				assert.Empty(t, left)
			}
		})
	}
}

func TestNohup(t *testing.T) {
	run := dds("perf", "run", "--rate", "100", "--warmup", "5s", "--duration", "10ms")
	nohup, err := exec.LookPath("nohup")
	require.NoError(t, err)
	run.Path, run.Args = nohup, append([]string{"nohup"}, run.Args...)
	require.NoError(t, run.Start())
	assert.Eventually(t, func() bool { return run.processes() == 3 }, time.Minute, 10*time.Millisecond, "itself and two children")
	require.NoError(t, run.Process.Signal(syscall.SIGHUP))
	run.await(t, exitOK)
}

func TestCtrlCEndsARoleWithItsResult(t *testing.T) {
	domain := aDomain()
	sub := dds("perf", "sub", "-d", domain)
	sub.Stdout = nil
	out, err := sub.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, sub.Start())
	other := dds("perf", "sub", "-o", "json", "-d", domain)
	require.NoError(t, other.Start())
	pub := dds("perf", "pub", "-o", "json", "-d", domain, "--rate", "1000", "--duration", "1h", "--readers", "2")
	require.NoError(t, pub.Start())
	lines := bufio.NewScanner(out)
	require.True(t, lines.Scan(), "a heading")
	assert.Equal(t, "Length (Bytes)  Total Samples    Samples/s  Ave Samples/s       Mbps   Ave Mbps Lost Samples", lines.Text())
	require.True(t, lines.Scan(), "the first second")
	assert.Equal(t, "1024", strings.Fields(lines.Text())[0])
	require.NoError(t, sub.Process.Signal(os.Interrupt))
	var rest string
	for lines.Scan() {
		rest += lines.Text() + "\n"
	}
	sub.await(t, exitOK)
	assert.Regexp(t, `(?m)^ +sub +[1-9]`, rest)

	require.NoError(t, pub.Process.Signal(os.Interrupt))
	pub.await(t, exitOK)
	var r bench.Result
	require.NoError(t, json.Unmarshal(pub.out.Bytes(), &r))
	assert.True(t, r.Interrupted)
	assert.Positive(t, r.Count)
	written := r.Count

	other.await(t, exitOK)
	r = bench.Result{}
	require.NoError(t, json.Unmarshal(other.out.Bytes(), &r))
	assert.True(t, r.Interrupted, "its writer went without a word")
	assert.Equal(t, written, r.Count)
	assert.Zero(t, r.Lost)
}

func TestTimeoutEndsARole(t *testing.T) {
	for role, other := range map[string]string{"sub": "pub", "pub": "sub", "ping": "pong", "pong": "ping", "peer": "peer"} {
		args := []string{"perf", role, "-o", "json", "-d", aDomain(), "--timeout", "300ms"}
		missing := "0 of 1 "
		if role == "peer" {
			args, missing = append(args, "--readers", "2"), "1 of 2 " // one is its own
		}
		idle := dds(args...).run(t, exitFailure)
		var r bench.Result
		require.NoError(t, json.Unmarshal(idle.out.Bytes(), &r))
		assert.True(t, r.Interrupted)
		assert.Zero(t, r.Count)
		assert.Contains(t, idle.err.String(), "dds: nothing was measured: start dds perf "+other+", too, with the same --domain and --qos: dcps: WaitForMatch (")
		assert.Contains(t, idle.err.String(), missing, role)
	}
}

// One that has met somebody ends well with its time.
func TestTimeoutEndsARoleThatMeasures(t *testing.T) {
	domain := aDomain()
	listener := dds("perf", "sub", "-d", domain)
	require.NoError(t, listener.Start())
	dds("perf", "pub", "-d", domain, "--timeout", "3s", "--warmup", "5ms", "--duration", "0").run(t, exitOK)
	listener.await(t, exitOK)
}

func TestReport(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	out := dds("perf", "report", "-d", dir, "--transport", "shm,tcp", "--readers", "1", "--size", "128", "--runs", "2", "--duration", "20ms", "--warmup", "5ms").
		run(t, exitOK).out.String()
	assert.Equal(t, filepath.Join(dir, "report.md")+"\n", out)
	page, err := os.ReadFile(filepath.Join(dir, "report.md"))
	require.NoError(t, err)
	for _, want := range []string{"| CPU |", "| kernel |", "| load average at the start |", "2 runs of 20ms",
		"## Throughput", "## One-way latency", "## Round trips", "## Delivery paths", "$ dds perf run "} {
		assert.Contains(t, string(page), want)
	}
	for _, name := range []string{"throughput-shm.svg", "throughput-tcp.svg", "one-way.svg", "round-trips.svg"} {
		assert.Contains(t, string(page), "]("+name+")")
		f, err := os.Open(filepath.Join(dir, name))
		require.NoError(t, err)
		d := xml.NewDecoder(f)
		for err == nil {
			_, err = d.Token()
		}
		assert.True(t, errors.Is(err, io.EOF), "%s: %v", name, err)
		require.NoError(t, f.Close())
	}
	raw, err := os.ReadFile(filepath.Join(dir, "results.json"))
	require.NoError(t, err)
	assert.True(t, json.Valid(raw))
}
