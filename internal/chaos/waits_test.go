package chaos

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// waits measures how long the threads of this process were ready to run while no processor was free: the second field
// of schedstat, which the kernel counts up when a thread gets to run. Where times are taken it is put down beside the
// deliveries, to tell what a pause was made of.
type waits struct {
	mu      sync.Mutex
	threads map[string]*queuedThread // by number
	listed  time.Time
	at      time.Time
}

type queuedThread struct {
	fd     int
	before time.Duration
}

const (
	// waitsEvery is how often it is looked at, at most; it takes some 10 µs.
	waitsEvery = 250 * time.Microsecond
	// waitsList is how often new threads are looked for.
	waitsList = 100 * time.Millisecond
	// waitsLeast is the least that is put down.
	waitsLeast = 50 * time.Microsecond
)

// look puts down what the threads have waited for since the last look.
func (w *waits) look(r *record) {
	if !w.mu.TryLock() {
		return // somebody else does
	}
	defer w.mu.Unlock()
	now := time.Now()
	if now.Sub(w.at) < waitsEvery {
		return
	}
	if now.Sub(w.listed) > waitsList {
		w.list()
		w.listed = now
	}
	var longest, all time.Duration
	for _, t := range w.threads {
		d := t.waited()
		longest, all = max(longest, d), all+d
	}
	from := w.at
	if w.at = time.Now(); all >= waitsLeast && !from.IsZero() {
		r.note("Q %d %d %d %d", from.UnixNano(), w.at.UnixNano(), longest, all)
	}
}

// list looks for new threads, and leaves alone those that have ended.
func (w *waits) list() {
	dir, err := os.Open("/proc/self/task")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	if w.threads == nil {
		w.threads = map[string]*queuedThread{}
	}
	for name, t := range w.threads {
		if !slices.Contains(names, name) {
			_ = unix.Close(t.fd)
			delete(w.threads, name)
		}
	}
	for _, name := range names {
		if w.threads[name] != nil {
			continue
		}
		if fd, err := unix.Open("/proc/self/task/"+name+"/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			w.threads[name] = &queuedThread{fd: fd}
			w.threads[name].waited() // what was before does not count
		}
	}
}

// waited is how much more it is since it was asked last.
func (t *queuedThread) waited() time.Duration {
	var b [64]byte
	n, err := unix.Pread(t.fd, b[:], 0)
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[:n])
	if len(fields) < 2 {
		return 0
	}
	v, _ := strconv.ParseInt(string(fields[1]), 10, 64)
	d := time.Duration(v) - t.before
	t.before = time.Duration(v)
	return d
}

// queueing is what a process put down of the waits of its threads between two moments.
type queueing struct {
	from, to int64
	longest  time.Duration // of one thread
	all      time.Duration // of all together
}

// gap is a time without a delivery at a reader, and what it was made of.
type gap struct {
	long time.Duration
	end  time.Time
	// unwritten is how much of it was over when anybody wrote the first of the samples that came next: the writers were late.
	unwritten time.Duration
	// one thread of the processes waited for a processor for so long within the gap; and all of them together, some at
	// the same time.
	one, all time.Duration
}

// queue notes what the processes put down of their waits.
func (g *gap) queue(qs []queueing) {
	from, to := g.end.Add(-g.long).UnixNano(), g.end.UnixNano()
	for _, q := range qs {
		if both := time.Duration(min(q.to, to) - max(q.from, from)); both > 0 {
			g.one, g.all = max(g.one, min(q.longest, both)), g.all+q.all
		}
	}
	g.all = min(g.all, g.long)
}

// longestGap is that of one reader between two moments, ns.
func longestGap(ds []delivery, from, to int64) (longest gap) {
	wrote := make([]int64, len(ds)+1) // when the first of the samples was written that were handed over from there on
	wrote[len(ds)] = to
	for i := len(ds) - 1; i >= 0; i-- {
		wrote[i] = min(wrote[i+1], ds[i].sent)
	}
	latest := from
	pass := func(i int, at int64) {
		if d := time.Duration(at - latest); d > longest.long {
			longest = gap{long: d, end: time.Unix(0, at), unwritten: time.Duration(max(0, min(wrote[i], at)-latest))}
		}
		latest = at
	}
	for i, d := range ds {
		if d.received >= to {
			pass(i, to)
			return longest
		}
		if d.received >= from {
			pass(i, d.received)
		}
	}
	pass(len(ds), to)
	return longest
}

func worst(gs []gap) (w gap) {
	for _, g := range gs {
		if g.long > w.long {
			w = g
		}
	}
	return w
}

// pauses are the longest gaps of several rounds.
type pauses []gap

// aimed is what a pause is to be below; of those that are longer it is told what they were made of.
const aimed = time.Millisecond

func (ps pauses) String() string {
	var all times
	var long []gap
	for _, g := range ps {
		all = append(all, g.long)
		if g.long > aimed {
			long = append(long, g)
		}
	}
	if len(long) == 0 {
		return all.String()
	}
	share := func(of func(g gap) time.Duration) float64 {
		var part, whole time.Duration
		for _, g := range long {
			part, whole = part+of(g), whole+g.long
		}
		return 100 * part.Seconds() / whole.Seconds()
	}
	return fmt.Sprintf("%v (%d over %v; for %.0f %% of these nobody had written what came next, for %.0f %% at least and %.0f %% at most a thread waited for a processor)", all, len(long), aimed,
		share(func(g gap) time.Duration { return g.unwritten }), share(func(g gap) time.Duration { return g.one }), share(func(g gap) time.Duration { return g.all }))
}

// stolen is for how long this machine's processors did not run since it started, because the host that it is a guest of
// ran others, in hundredths of a second.
func stolen() int64 {
	b, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(b), "\n")
	if f := strings.Fields(line); len(f) > 8 {
		v, _ := strconv.ParseInt(f[8], 10, 64)
		return v
	}
	return 0
}
