package vfs

import (
	"errors"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// ErrCrashed is what a Mem answers after its Crash.
var ErrCrashed = errors.New("vfs: the machine has crashed")

// Mem is a file system in memory that knows which bytes and names are safe.
type Mem struct {
	mu      sync.Mutex
	crashed bool
	dirs    map[string]bool  // safe as soon as made, as FS.MkdirAll promises
	names   map[string]*node // as the running system sees them
	safe    map[string]*node // as of the last SyncDir of their directory
	pending []dirOp          // what SyncDir has not covered, oldest first
	locks   map[string]string
}

// node is the contents of a file.
type node struct {
	data []byte // as the running system sees it
	safe []byte // as of the last Sync
}

// dirOp is one change to the names: to now stands for n (nil: for nothing), from is gone.
type dirOp struct {
	dir  string
	from string
	to   string
	n    *node
}

func (op dirOp) apply(names map[string]*node) {
	delete(names, op.from)
	if op.to != "" {
		names[op.to] = op.n
	}
}

// NewMem returns an empty file system.
func NewMem() *Mem {
	return &Mem{
		dirs:  map[string]bool{".": true, "/": true},
		names: map[string]*node{},
		safe:  map[string]*node{},
		locks: map[string]string{},
	}
}

// Crash cuts the power: m answers ErrCrashed from now on, and the file system returned holds what
// was safe and, of the rest, what rng decides.
func (m *Mem) Crash(rng *rand.Rand) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.crashed = true
	after := NewMem()
	maps.Copy(after.dirs, m.dirs)

	names := maps.Clone(m.safe)
	keep := chooser(rng, len(m.pending))
	for i, op := range m.pending {
		if keep(i) {
			op.apply(names)
		}
	}
	copies := map[*node]*node{} // a file may survive under two names
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if copies[n] == nil {
			data := n.survive(rng)
			copies[n] = &node{data: data, safe: slices.Clone(data)}
		}
		after.names[name] = copies[n]
		after.safe[name] = copies[n]
	}
	return after
}

// survive decides about the size, and sector by sector between the safe bytes and the later ones.
func (n *node) survive(rng *rand.Rand) []byte {
	size := len(n.safe)
	if rng.IntN(2) == 0 {
		size = len(n.data)
	}
	out := make([]byte, size)
	copy(out, n.safe)
	sectors := (max(len(n.safe), len(n.data)) + SectorBytes - 1) / SectorBytes
	keep := chooser(rng, sectors)
	for i := range sectors {
		from, to := i*SectorBytes, (i+1)*SectorBytes
		if from >= size || !keep(i) {
			continue
		}
		sector := out[from:min(to, size)]
		clear(sector) // where the later file was shorter
		if from < len(n.data) {
			copy(sector, n.data[from:min(to, len(n.data))])
		}
	}
	return out
}

// chooser returns which of n unsafe things survive. The four ways cover what devices do: lose all,
// keep all, keep the oldest, keep any.
func chooser(rng *rand.Rand, n int) func(i int) bool {
	switch rng.IntN(4) {
	case 0:
		return func(int) bool { return false }
	case 1:
		return func(int) bool { return true }
	case 2:
		cut := rng.IntN(n + 1)
		return func(i int) bool { return i < cut }
	default:
		return func(int) bool { return rng.IntN(2) == 0 }
	}
}

func (m *Mem) change(op dirOp) {
	op.apply(m.names)
	m.pending = append(m.pending, op)
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// find returns the file of that name. m.mu is held.
func (m *Mem) find(op, name string) (*node, error) {
	if m.crashed {
		return nil, pathError(op, name, ErrCrashed)
	}
	n := m.names[filepath.Clean(name)]
	if n == nil {
		return nil, pathError(op, name, fs.ErrNotExist)
	}
	return n, nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.crashed {
		return pathError("mkdir", dir, ErrCrashed)
	}
	for dir = filepath.Clean(dir); !m.dirs[dir]; dir = filepath.Dir(dir) {
		if m.names[dir] != nil {
			return pathError("mkdir", dir, syscall.ENOTDIR)
		}
		m.dirs[dir] = true
	}
	return nil
}

// List implements FS.
func (m *Mem) List(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	if m.crashed {
		return nil, pathError("list", dir, ErrCrashed)
	}
	if !m.dirs[dir] {
		return nil, pathError("list", dir, fs.ErrNotExist)
	}
	names := []string{}
	for name := range m.names {
		if filepath.Dir(name) == dir {
			names = append(names, filepath.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

// Create implements FS.
func (m *Mem) Create(name string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	switch {
	case m.crashed:
		return nil, pathError("create", name, ErrCrashed)
	case !m.dirs[filepath.Dir(name)]:
		return nil, pathError("create", name, fs.ErrNotExist)
	case m.dirs[name]:
		return nil, pathError("create", name, syscall.EISDIR)
	}
	n := m.names[name]
	if n == nil {
		n = &node{}
		m.change(dirOp{dir: filepath.Dir(name), to: name, n: n})
	}
	n.data = nil
	return &memFile{m: m, n: n, name: name, write: true}, nil
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open(name, false) }

// OpenWrite implements FS.
func (m *Mem) OpenWrite(name string) (File, error) { return m.open(name, true) }

func (m *Mem) open(name string, write bool) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("open", name)
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, n: n, name: name, write: write}, nil
}

// Rename implements FS. Both names are in one directory.
func (m *Mem) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find("rename", from)
	if err != nil {
		return err
	}
	from, to = filepath.Clean(from), filepath.Clean(to)
	if filepath.Dir(from) != filepath.Dir(to) {
		return pathError("rename", from, syscall.EXDEV)
	}
	m.change(dirOp{dir: filepath.Dir(to), from: from, to: to, n: n})
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, err := m.find("remove", name); err != nil {
		return err
	}
	name = filepath.Clean(name)
	m.change(dirOp{dir: filepath.Dir(name), from: name})
	return nil
}

// SyncDir implements FS.
func (m *Mem) SyncDir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	if m.crashed {
		return pathError("syncdir", dir, ErrCrashed)
	}
	if !m.dirs[dir] {
		return pathError("syncdir", dir, fs.ErrNotExist)
	}
	m.pending = slices.DeleteFunc(m.pending, func(op dirOp) bool {
		if op.dir != dir {
			return false
		}
		op.apply(m.safe)
		return true
	})
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name, owner string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.crashed {
		return nil, pathError("lock", name, ErrCrashed)
	}
	if !m.dirs[filepath.Dir(name)] {
		return nil, pathError("lock", name, fs.ErrNotExist)
	}
	if holder, taken := m.locks[name]; taken {
		return nil, &LockedError{Name: name, Owner: holder}
	}
	m.locks[name] = owner
	return &memLock{m: m, name: name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}
