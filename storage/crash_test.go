package storage

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/omg-dds-go/dds/internal/vfs"
)

// beside is a file system in which something is done during each sync.
type beside struct {
	vfs.FS
	act func()
}

type besideFile struct {
	vfs.File
	of *beside
}

func (b *beside) Create(name string) (vfs.File, error) { return b.file(b.FS.Create(name)) }

func (b *beside) OpenWrite(name string) (vfs.File, error) { return b.file(b.FS.OpenWrite(name)) }

func (b *beside) file(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return &besideFile{f, b}, nil
}

func (f *besideFile) Sync() error {
	f.of.act()
	return f.File.Sync()
}

// model is the oracle of the crash tests: what was appended, and how much of it acknowledged.
type model struct {
	appended []Record
	acked    int // of them
	next     Version
	trimmed  Version
}

// check compares the log after a crash with the model and makes it the new truth. What survived
// beyond the acknowledged records counts as such once Open has returned it.
func (m *model) check(got []Record) error {
	if len(got) > 0 && m.acked > 0 { // who has acknowledged records has the last of them
		lacks := slices.IndexFunc(m.appended, func(r Record) bool { return r.Version == got[0].Version })
		if lacks < 0 || lacks > 0 && m.appended[lacks-1].Compare(m.trimmed) > 0 {
			return fmt.Errorf("the first record is %v, and only up to %v was trimmed", got[0].Version, m.trimmed)
		}
		m.appended, m.acked = m.appended[lacks:], max(0, m.acked-lacks)
	}
	if len(got) < m.acked {
		return fmt.Errorf("%d records, but %d were acknowledged", len(got), m.acked)
	}
	if len(got) > len(m.appended) {
		return fmt.Errorf("%d records, but only %d were appended", len(got), len(m.appended))
	}
	for i := range got {
		if !same(&m.appended[i], &got[i]) {
			return fmt.Errorf("record %d is %v, appended was %v", i, got[i].Version, m.appended[i].Version)
		}
	}
	m.appended = m.appended[:len(got)]
	return nil
}

// work does random operations until the file system fails or steps are done.
func (m *model) work(o Options, rng *rand.Rand, steps int) error {
	o.Trimmed = func() (Version, error) { return m.trimmed, nil }
	var l *Log // nil while it is opened
	trim := func() {
		if l == nil || m.acked == 0 {
			return
		}
		v := m.appended[rng.IntN(m.acked)].Version
		if v.Compare(m.trimmed) > 0 {
			m.trimmed = v
		}
		_, _ = l.Trim(v) // if it fails all does
	}
	o.FS = &beside{o.FS, func() {
		if rng.IntN(8) == 0 {
			trim()
		}
	}}
	l, r, err := Open("log", o)
	if err != nil {
		return err
	}
	if r.Records != uint64(len(m.appended)) {
		return fmt.Errorf("opened %d records, read %d", r.Records, len(m.appended))
	}
	m.acked = len(m.appended)
	for range steps {
		switch rng.IntN(9) {
		case 0, 1, 2:
			n, err := len(m.appended), error(nil)
			if _, err = l.Sync(); err != nil {
				l.Close()
				return err
			}
			m.acked = n
		case 3:
			if rng.IntN(4) > 0 {
				continue
			}
			n := len(m.appended)
			if err := l.Close(); err != nil {
				return err
			}
			m.acked, l = n, nil
			if l, _, err = Open("log", o); err != nil {
				return err
			}
		case 4:
			trim()
		default:
			// After a crash the same versions may come again with other contents.
			if m.next.Seq++; m.next.Epoch == 0 || rng.IntN(10) == 0 {
				m.next = Version{m.next.Epoch + 1, uint64(rng.IntN(3))}
			}
			r := record(m.next, []int{0, 10, 300, 700, 2000}[rng.IntN(5)])
			r.Timestamp = rng.Int64()
			if err := l.Append(&r); err != nil {
				l.Close()
				return err
			}
			m.appended = append(m.appended, r)
		}
	}
	n := len(m.appended)
	err = l.Close()
	if err == nil {
		m.acked = n
	}
	return err
}

// crashRun works, crashes at the n-th operation, and so on for each of the crash points, recovering
// in between. A crash is a power failure, or the death of the process alone, which leaves what was
// written and not synced to be read, and to be lost by the next power failure. It returns how many
// operations the last leg took.
func crashRun(seed uint64, crashAt ...int) (ops int, err error) {
	rng := rand.New(rand.NewPCG(seed, 7))
	mem := vfs.NewMem()
	m := &model{}
	for leg, at := range append(crashAt, 0) {
		faulty := vfs.NewFaulty(mem)
		faulty.FailAt(at, vfs.ErrCrashed)
		o := Options{FS: faulty, SegmentBytes: minSegmentBytes, LogID: 1, Go: atOnce}
		err := m.work(o, rng, 40)
		ops = faulty.Ops()
		if at == 0 && err != nil {
			return ops, fmt.Errorf("leg %d: %w", leg, err)
		}
		if at > 0 && rng.IntN(3) > 0 {
			mem = mem.Crash(rng)
		}
		// Versions go on from what is on the disk, or repeat what was lost.
		got, err := readAll("log", Options{FS: mem, Trimmed: upTo(m.trimmed)}, Version{})
		if err != nil && !(len(m.appended) == 0 && leg == 0) {
			return ops, fmt.Errorf("leg %d: reading after a crash at %d: %w", leg, at, err)
		}
		if err := m.check(got); err != nil {
			return ops, fmt.Errorf("leg %d: after a crash at operation %d: %w", leg, at, err)
		}
		m.next = Version{}
		if n := len(m.appended); n > 0 {
			m.next = m.appended[n-1].Version
		}
	}
	return ops, nil
}

// TestCrashAtEveryOperation cuts the power at each operation of a history, once in normal work and
// once more soon after, in recovery or the work that follows it.
func TestCrashAtEveryOperation(t *testing.T) {
	seeds := 12
	if testing.Short() {
		seeds = 3
	}
	for seed := range uint64(seeds) {
		total, err := crashRun(seed)
		if err != nil {
			t.Fatalf("seed %d without a crash: %v", seed, err)
		}
		for at := 1; at <= total; at++ {
			again := 1 + (at*7+int(seed))%30
			if _, err := crashRun(seed, at, again, 3*again); err != nil {
				t.Fatalf("seed %d, crashes at %d, %d, %d: %v", seed, at, again, 3*again, err)
			}
		}
	}
}

// TestUnfinishedBatchOverSegments sweeps one Sync that begins two new segments.
func TestUnfinishedBatchOverSegments(t *testing.T) {
	for seed := range uint64(20) {
		for at := 1; ; at++ {
			mem := vfs.NewMem()
			o := Options{FS: mem, SegmentBytes: minSegmentBytes, LogID: 1, Go: atOnce}
			l, _, err := Open("log", o)
			noError(t, err)
			m := &model{appended: appendAll(t, l, Version{}, 10, 10)}
			_, err = l.Sync()
			noError(t, err)
			m.acked = 2
			noError(t, l.Close())

			faulty := vfs.NewFaulty(mem)
			o.FS = faulty
			l, _, err = Open("log", o)
			noError(t, err)
			m.appended = append(m.appended, appendAll(t, l, m.appended[1].Version, 1000, 2900, 100, 2900, 10)...)
			faulty.FailAt(faulty.Ops()+at, vfs.ErrCrashed)
			if _, err := l.Sync(); err == nil {
				break
			}
			o.FS = mem.Crash(rand.New(rand.NewPCG(seed, uint64(at))))
			l, _, err = Open("log", o)
			if err != nil {
				t.Fatalf("seed %d, crash at %d: %v", seed, at, err)
			}
			got, err := readAll("log", o, Version{})
			noError(t, err)
			noError(t, m.check(got))
			noError(t, l.Close())
		}
	}
}
