package bench

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Role is what one process does.
type Role string

// The roles.
const (
	Pub  Role = "pub"
	Sub  Role = "sub"
	Ping Role = "ping"
	Pong Role = "pong"
	Peer Role = "peer"
)

// Level is the delivery path that is asked for, by QoS.
type Level string

// The levels, weakest first.
const (
	Unordered Level = "unordered" // BEST_EFFORT
	Atomic    Level = "atomic"    // RELIABLE, VOLATILE
	Stored    Level = "stored"    // RELIABLE, TRANSIENT_LOCAL
	Logged    Level = "logged"    // RELIABLE, PERSISTENT
)

// Access says how a sample gets into the ring, or out of the reader.
type Access string

const (
	// Loan builds in the ring, or reads in place: no copy besides the middleware's own.
	Loan Access = "loan"
	// Copy uses Write, or Take and Data.
	Copy Access = "copy"
)

// Options are what a role can be told. Its JSON is how a parent process tells its children.
type Options struct {
	Domain    uint32
	Transport string   // shm or tcp
	Peers     []string // host:port
	Listen    string   // host:port
	Ring      int      // bytes of a writer's ring; 0 is the middleware's default
	Dir       string   // for logs, with Logged
	KeepLog   bool     // logs are not trimmed

	Size       int     // of an encoded sample, from MinSize
	Rate       float64 // samples per second of each writer; 0 is as fast as possible
	Spin       bool    // wait the last 60 µs for the next turn without sleeping
	Keyed      bool    // use the type with a key; implied by Instances above 1
	Instances  int
	Level      Level
	Keep       int // HISTORY depth of a reader; 0 is KEEP_ALL
	MaxSamples int // RESOURCE_LIMITS max_samples of a KEEP_ALL reader
	Write      Access
	Read       Access
	Batch      int           // samples to take at once; 0 is all there are
	Poll       bool          // look for samples again and again in place of waiting
	Listener   bool          // read in a listener
	Work       time.Duration // what a reader does with each sample

	WarmUp   time.Duration
	Duration time.Duration // how long to write samples that count; 0 is no limit
	Count    uint64        // how many of them; 0 is no limit

	Topic     string // that pub, sub and peer talk about
	Topics    int    // how many there are, with it; in the others a process has a writer and a reader that are idle
	Subgroups int    // of a delivery path, onto which topics are hashed
	Silent    bool   // a peer that does not write

	Writers int // a reader ends when so many writers have; 0: when there is none any more
	Readers int // a writer begins when it is matched with so many

	CPUProfile string // file
}

// DefaultOptions are those of one writer at full speed. Transport and Listen are left to the environment.
func DefaultOptions() Options {
	return Options{
		Size: 1 << 10, Instances: 1, Level: Atomic, MaxSamples: 10000, Write: Loan, Read: Loan,
		WarmUp: time.Second, Duration: 5 * time.Second, Readers: 1,
		Topic: DefaultTopic, Topics: 1, Subgroups: 8, // as the middleware has them
	}
}

// MinSize is the size of a sample without payload.
const MinSize = 40

const minRing, maxRing = 4 << 10, 1 << 30

// Check refuses what can not be done, in the words of the command line.
func (o *Options) Check() error {
	switch {
	case o.Size < MinSize:
		return fmt.Errorf("size %d: the header of a sample has %d bytes already; ask for at least that", o.Size, MinSize)
	case o.Size >= maxRing/2:
		return fmt.Errorf("size %s: a sample has to fit into half a ring, and the largest ring has %s; ask for less than %s", FormatSize(o.Size), FormatSize(maxRing),
			FormatSize(maxRing/2))
	case o.Rate < 0 || math.IsNaN(o.Rate) || math.IsInf(o.Rate, 0):
		return fmt.Errorf("rate %v: say max, or a number of samples per second above 0", o.Rate)
	case o.Instances < 1 || int64(o.Instances) > math.MaxUint32:
		return fmt.Errorf("instances %d: at least 1", o.Instances)
	case o.Keep < 0 || o.Keep > math.MaxInt32:
		return fmt.Errorf("keep %d: say all, or a depth from 1", o.Keep)
	case o.MaxSamples < 1 || o.MaxSamples > math.MaxInt32:
		return fmt.Errorf("max-samples %d: at least 1", o.MaxSamples)
	case o.Batch < 0:
		return fmt.Errorf("batch %d: say all, or a number from 1", o.Batch)
	case o.WarmUp < 0 || o.Duration < 0:
		return fmt.Errorf("warm-up %v, duration %v: neither can be negative", o.WarmUp, o.Duration)
	case o.Work < 0:
		return fmt.Errorf("work %v: it can not be negative", o.Work)
	case o.Listener && o.Poll:
		return fmt.Errorf("listener and poll: a reader does one or the other")
	case o.Topic == "" || o.Topics < 1 || o.Subgroups < 1:
		return fmt.Errorf("topic %q, topics %d, subgroups %d: give a name, and at least 1", o.Topic, o.Topics, o.Subgroups)
	case o.Ring != 0 && (o.Ring < minRing || o.Ring > maxRing || bits.OnesCount(uint(o.Ring)) != 1):
		return fmt.Errorf("ring %s: a power of two from %s to %s", FormatSize(o.Ring), FormatSize(minRing), FormatSize(maxRing))
	case o.Writers < 0 || o.Readers < 0:
		return fmt.Errorf("writers %d, readers %d: neither can be negative", o.Writers, o.Readers)
	}
	if !oneOf(string(o.Level), string(Unordered), string(Atomic), string(Stored), string(Logged)) {
		return fmt.Errorf("qos %q: say unordered, atomic, stored or logged", o.Level)
	}
	if !oneOf(o.Transport, "", "shm", "tcp") {
		return fmt.Errorf("transport %q: say shm or tcp", o.Transport)
	}
	for _, a := range []Access{o.Write, o.Read} {
		if a != Loan && a != Copy {
			return fmt.Errorf("access %q: say loan or copy", a)
		}
	}
	return nil
}

func oneOf(s string, list ...string) bool {
	for _, l := range list {
		if s == l {
			return true
		}
	}
	return false
}

// RingFor is a ring in which a few samples of a size find room from the start; that of the middleware's default grows
// only for samples of more than half of it. It is 0, for that default, or a power of two up to the largest ring.
func RingFor(size int) int {
	const defaultRing, samples = 1 << 20, 8
	ring := defaultRing
	for ring < samples*size && ring < maxRing {
		ring *= 2
	}
	if ring == defaultRing {
		return 0
	}
	return ring
}

// ParseSize reads a number of bytes: 128, 1K, 64k, 1M.
func ParseSize(s string) (int, error) {
	digits, unit := s, 1
	for suffix, u := range map[string]int{"K": 1 << 10, "M": 1 << 20, "G": 1 << 30} {
		if d, found := strings.CutSuffix(strings.ToUpper(s), suffix); found {
			digits, unit = d, u
		}
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || n > math.MaxInt32/unit {
		return 0, fmt.Errorf("size %q: write a number of bytes such as 128, 10K or 1M, below 2G", s)
	}
	return n * unit, nil
}

// FormatSize is the inverse of ParseSize.
func FormatSize(n int) string {
	switch {
	case n > 0 && n%(1<<20) == 0:
		return fmt.Sprintf("%dM", n>>20)
	case n > 0 && n%(1<<10) == 0:
		return fmt.Sprintf("%dK", n>>10)
	}
	return strconv.Itoa(n)
}

// ParseRate reads samples per second: max, 1000, 10k, 1M, 500Hz.
func ParseRate(s string) (float64, error) {
	digits, unit := strings.ToLower(s), 1.0
	if oneOf(digits, "max", "inf") {
		return 0, nil
	}
	digits = strings.TrimSuffix(digits, "hz")
	for suffix, u := range map[string]float64{"k": 1e3, "m": 1e6} {
		if d, found := strings.CutSuffix(digits, suffix); found {
			digits, unit = d, u
		}
	}
	r, err := strconv.ParseFloat(digits, 64)
	if err != nil || !(r > 0 && r*unit <= 1e9) {
		return 0, fmt.Errorf("rate %q: write max, or samples per second such as 1000, 50k or 1M", s)
	}
	return r * unit, nil
}

// FormatRate is the inverse of ParseRate.
func FormatRate(r float64) string {
	switch {
	case r == 0:
		return "max"
	case r >= 1e6 && math.Mod(r, 1e6) == 0:
		return fmt.Sprintf("%gM", r/1e6)
	case r >= 1e3 && math.Mod(r, 1e3) == 0:
		return fmt.Sprintf("%gk", r/1e3)
	}
	return fmt.Sprintf("%g", r)
}
