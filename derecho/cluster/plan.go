package cluster

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/omg-dds-go/dds/derecho"
)

// Fault is a kind of failure.
type Fault uint32

// The kinds of faults.
const (
	CrashNode Fault = 1 << iota // a process ends, at any push or store
	CrashHost                   // all processes of a host end at once
	Pause                       // a process stands still, longer than a lease or not
	Partition                   // hosts are cut off from each other
	OneWay                      // messages from one process to another do not pass
	Restart                     // a process that crashed starts again
	SlowNode                    // a process is slow throughout
	SlowDisk                    // a log is slow throughout
	DiskError                   // a log fails
	ClockSkew                   // clocks run at different speeds
	CrashAll                    // all processes end at once and start again in some order
	LoseDisk                    // a process that starts again finds its disk empty
	CrashSync                   // a process ends between two operations of its log
	LyingSync                   // a disk says that it has synced what it has not
	Split                       // the hosts fall into sets; nothing passes between some of these, in one direction or both
	HungDisk                    // a disk does not answer for a while
	Unlink                      // a link ends between two processes that live
	faultsEnd
)

var faultNames = []string{"crash", "crash-host", "pause", "partition", "one-way", "restart", "slow-node", "slow-disk",
	"disk-error", "clock-skew", "crash-all", "lose-disk", "crash-sync", "lying-sync", "split", "hung-disk", "unlink"}

// firstFaults are drawn with all else; those that came later from a generator of their own, so that they change no other seed.
const firstFaults = 12

// ownStream are those that are neither drawn with the others nor scheduled with them, so that the runs without them are
// what they were: see ownIn.
const ownStream = LyingSync | Split | HungDisk | Unlink

// AllFaults are all kinds.
const AllFaults = faultsEnd - 1

func (f Fault) String() string {
	var names []string
	for i, n := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ",")
}

// ParseFaults reads a list of names, or all, or none.
func ParseFaults(list string) (Fault, error) {
	switch list {
	case "all":
		return AllFaults, nil
	case "none", "":
		return 0, nil
	}
	var f Fault
next:
	for _, name := range strings.Split(list, ",") {
		for i, n := range faultNames {
			if n == strings.TrimSpace(name) {
				f |= 1 << i
				continue next
			}
		}
		return 0, fmt.Errorf("cluster: no fault %q; there are all, none, %s", name, strings.Join(faultNames, ", "))
	}
	return f, nil
}

// Options bound what a seed may draw.
type Options struct {
	// Faults that may happen. Each seed draws which of them do.
	Faults Fault
	// MinNodes and MaxNodes bound the number of nodes; default 2 to 5.
	MinNodes, MaxNodes int
	// Duration of the safety phase; 0: drawn.
	Duration time.Duration
	// Storm: runs that aim at changes of the view, one of the kinds of Storms, or "any"; "": ordinary runs.
	Storm string
	// Spindle is what is switched off of the data path.
	Spindle derecho.Spindle
	// Large: in every run some messages do not fit their ring.
	Large bool
	// Keep, if not nil, lists what is left of what the seed schedules (Result.Scheduled says how much that
	// is): a shrunk run.
	Keep []int
	// Drawn, if not nil, is told what the seed has drawn, before anything happens.
	Drawn func(Plan)
}

// Plan is what a seed draws first.
type Plan struct {
	Seed                     uint64
	Nodes, Hosts             int
	Faults                   Fault
	Count                    int           // of faults that happen once
	Length                   time.Duration // of the safety phase
	Acts                     int           // of the application
	Lease                    time.Duration
	MaxDelay, MaxPause       time.Duration // of the network, see sim.World
	Leaves                   int
	Ring, Burst              int  // bytes of a ring; most messages of an act
	Unfound                  bool // some nodes are not found at start
	Witness                  bool
	Late                     bool   // nodes start throughout the run, not at its beginning
	Revive                   bool   // in the end all that crashed start again
	Loans                    bool   // applications read messages where they lie
	Changes                  bool   // applications change their endpoints
	Together                 bool   // who joins announces its endpoints together, as nodes do when they join again
	Foretold, Rejects, Loses bool   // see sim.World
	Memory                   bool   // some processes keep stored channels in memory, until they begin a log
	Large                    bool   // some messages do not fit their ring, which grows for them
	Piece                    int    // bytes of a state in one message; 0: all of it
	Passes                   int    // most that it takes to take a state over, besides one
	Storm                    string // its kind, "" for none
	Waves                    int    // of a storm
	Spindle                  derecho.Spindle
	Silence                  int  // promises that make a sender silent
	Names                    bool // who starts again has the name that it had
}

func draw(seed uint64, rng *rand.Rand, o Options) Plan {
	if o.MaxNodes == 0 {
		o.MinNodes, o.MaxNodes = 2, 5
	}
	p := Plan{
		Seed: seed, Nodes: o.MinNodes + rng.IntN(o.MaxNodes-o.MinNodes+1), Hosts: 1 + rng.IntN(5),
		Lease: 100 * time.Millisecond, Unfound: rng.IntN(3) == 0, Late: rng.IntN(3) == 0,
		MaxDelay: []time.Duration{20 * time.Microsecond, 200 * time.Microsecond, 5 * time.Millisecond}[rng.IntN(3)],
		MaxPause: []time.Duration{0, time.Microsecond, 100 * time.Microsecond}[rng.IntN(3)],
		Revive:   rng.IntN(2) == 0, Leaves: rng.IntN(3), Witness: rng.IntN(4) == 0,
	}
	later := rand.New(rand.NewPCG(seed, 0xfa17))
	for i := range faultNames {
		if ownStream&(1<<i) != 0 {
			continue
		}
		from := rng
		if i >= firstFaults {
			from = later
		}
		if o.Faults&(1<<i) != 0 && from.IntN(3) == 0 {
			p.Faults |= 1 << i
		}
	}
	// Much traffic hides what only the next message repairs; so some runs have little, and soon.
	p.Length, p.Acts = 200*p.MaxDelay, 400
	if rng.IntN(2) == 0 {
		p.Length, p.Acts = 40*p.MaxDelay, 10+rng.IntN(40)
	}
	if p.Faults != 0 && rng.IntN(2) == 0 { // long enough for leases to run out
		p.Length = max(p.Length, 10*p.Lease)
	}
	if o.Duration > 0 {
		p.Length = o.Duration
	}
	p.Count = 1 + rng.IntN(4)
	p.Silence = silence(seed)
	p.Ring, p.Burst = []int{1 << 12, 1 << 13}[rng.IntN(2)], []int{1, 4, 30}[rng.IntN(3)]
	return p
}

// audible: whoever lives and does not stand still is heard by all others, at all times. Of storms and scripts that is not
// known.
func (p Plan) audible() bool {
	return p.Storm == "" && p.Length > 0 && p.Faults&(Partition|OneWay|Split|Unlink) == 0 && !p.Unfound
}

// silence is not drawn, so that it changes nothing else of a seed.
func silence(seed uint64) int { return []int{1, 4, 16}[seed%3] }

func (p Plan) String() string {
	kind := ""
	if p.Storm != "" {
		kind = "storm " + p.Storm + ", "
	}
	if p.Spindle != (derecho.Spindle{}) {
		kind += fmt.Sprintf("spindle %v, ", p.Spindle)
	}
	return fmt.Sprintf("seed %d: %s%d nodes on %d hosts, faults %v (%d), %v with %d acts and %d leaves, lease %v, delay up to %v, pause up to %v, unfound %v, witness %v, late %v, rings of %d, bursts of %d, loans %v, changes %v, together %v, deaths foretold %v, cut off by refusals %v, ended links lose %v, memory %v, large %v, pieces of %d, up to %d passes to load, silent after %d",
		p.Seed, kind, p.Nodes, p.Hosts, p.Faults, p.Count, p.Length, p.Acts, p.Leaves, p.Lease, p.MaxDelay, p.MaxPause, p.Unfound,
		p.Witness, p.Late, p.Ring, p.Burst, p.Loans, p.Changes, p.Together, p.Foretold, p.Rejects, p.Loses, p.Memory, p.Large, p.Piece, 1+p.Passes, p.Silence)
}
