package peers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// Mode is what a run is for; some tunings help one and hurt the other.
type Mode int

const (
	Throughput Mode = iota // as many samples as the readers take
	Latency                // few samples, at a given rate
)

// Variant is an implementation with a configuration.
type Variant struct {
	Name    string
	What    string // the configuration, and what differs in what it promises
	MayLose bool   // has no back pressure: what is lost is part of the result
	Stalls  bool   // stops for good in some runs at full rate: they fail, and comparisons count them

	program       string
	throughput    []string // options
	latency       []string
	config        string // file, relative to the sources
	daemon        string // must run during a run
	daemonConfig  string
	daemonPackage string
	fixedSizes    bool // types exist for a few sizes only
	dir, src      string
}

var variants = []Variant{
	{
		Name: "cyclone", What: "default configuration: UDP; reliable, KEEP_ALL",
		program: "cyclone",
	},
	{
		Name: "cyclone-tuned", What: "larger messages, fragments and socket buffers, write batching; listener for latency; reliable, KEEP_ALL",
		program: "cyclone", config: "cyclone/tuned.xml",
		throughput: []string{"--batch"}, latency: []string{"--listener"},
	},
	{
		Name: "cyclone-iceoryx", What: "shared memory (iceoryx), loans, fixed types; reliable, but KEEP_LAST 16 at the writer and 64 at readers: no KEEP_ALL there. A reader of 0.10 that falls far behind may run out of chunks, and takes nothing more",
		program: "cyclone", config: "cyclone/iceoryx.xml",
		throughput: []string{"--loan", "--keep-last", "16", "--reader-keep-last", "64"},
		latency:    []string{"--loan", "--keep-last", "16", "--reader-keep-last", "64", "--listener"},
		daemon:     "iox-roudi", daemonConfig: "cyclone/roudi.toml", daemonPackage: "iceoryx",
		MayLose: true, Stalls: true, fixedSizes: true,
	},
	{
		Name: "fastdds", What: "default configuration: shared memory transport, UDP for discovery; reliable, KEEP_ALL",
		program: "fastdds",
	},
	{
		Name: "fastdds-tuned", What: "synchronous; larger shared memory segment, queue and socket buffers, 5 ms heartbeats; listener for latency; reliable, KEEP_ALL",
		program: "fastdds", config: "fastdds/tuned.xml", latency: []string{"--listener"},
	},
	{
		Name: "fastdds-async", What: "as fastdds-tuned, but asynchronous", Stalls: true,
		program: "fastdds", config: "fastdds/async.xml", latency: []string{"--listener"},
	},
	{
		Name: "fastdds-loan", What: "data sharing, loans, fixed types; reliable, but KEEP_LAST 128: with KEEP_ALL, 2.9 stops for good under load as soon as there are two readers",
		program: "fastdds", config: "fastdds/loan.xml",
		throughput: []string{"--loan", "--keep-last", "128"}, latency: []string{"--loan", "--keep-last", "128"},
		MayLose: true, fixedSizes: true,
	},
}

// Sizes for which there are types of fixed size.
var fixedSizes = []int{128, 1 << 10, 10 << 10, 1 << 20}

// Supports says whether the variant can send samples of a size.
func (v Variant) Supports(size int) bool { return !v.fixedSizes || slices.Contains(fixedSizes, size) }

// Command is one process of the variant, ready to start.
func (v Variant) Command(ctx context.Context, role string, mode Mode, options ...string) *exec.Cmd {
	own := v.throughput
	if mode == Latency {
		own = v.latency
	}
	c := exec.CommandContext(ctx, filepath.Join(v.dir, v.program), slices.Concat([]string{role, "--impl", v.Name}, own, options)...)
	c.Env = append(os.Environ(), v.environment()...)
	return c
}

// environment names the configuration; without one it takes away what the user's own environment may name.
func (v Variant) environment() []string {
	file := ""
	if v.config != "" {
		file = filepath.Join(v.src, filepath.FromSlash(v.config))
	}
	if v.program == "fastdds" {
		return []string{"FASTRTPS_DEFAULT_PROFILES_FILE=" + file}
	}
	if file != "" {
		file = "file://" + file
	}
	return []string{"CYCLONEDDS_URI=" + file}
}
