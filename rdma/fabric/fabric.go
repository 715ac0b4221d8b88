package fabric

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/rdma"
	"github.com/omg-dds-go/dds/rdma/shm"
	"github.com/omg-dds-go/dds/rdma/tcp"
)

// Slots is how many nodes of one user and domain fit on a host.
const Slots = 256

const (
	greetTimeout  = 2 * time.Second // for a peer to answer a greeting
	redialEvery   = 500 * time.Millisecond
	firstDialTime = time.Second           // how long Scanned waits for an address that does not answer
	firstAsk      = 20 * time.Millisecond // after which a peer that should have dialled is asked whether it is there

	// A dial that may yet succeed is repeated; a peer may need a second to see that its link is down.
	redials     = 16
	firstRedial = 5 * time.Millisecond
	lastRedial  = 250 * time.Millisecond

	maxMisses = 3 // after which a peer that answers, and is not at its slot, is on another host
)

// ErrSlots: the host has no room for another node of this user and domain.
var ErrSlots = errors.New("fabric: all rendezvous slots of this host, user and domain are taken")

// Config says who this node is and where it looks for others.
type Config struct {
	Domain      uint32
	ID          uint64
	Name        string
	Fingerprint string
	TCP         bool     // do not share memory, not even on one host
	Listen      string   // tcp address to listen on
	Peers       []string // tcp addresses to dial
	EachPost    bool     // for experiments: tcp.Config.EachPost
}

// Fabric implements rdma.Fabric over shm and tcp.
type Fabric struct {
	cfg    Config
	self   rdma.PeerInfo
	bell   *shm.BellMemory
	fence  *rdma.Fence
	events rdma.Events
	unix   *net.UnixListener
	tcpL   net.Listener
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	dscp atomic.Int32 // see Mark

	// greetTimeout and firstDialTime; longer in tests, in which a process may stand still for as long.
	greetTimeout, firstDialTime time.Duration

	mu     sync.Mutex
	closed bool
	links  map[uint64]link // by peer; an entry exists from the greeting on, nil until it is over
	// dialing are addresses and slots being dialled; true: once more, another dial was asked for.
	dialing map[string]bool
	// expected are the peers that were found but whose links are being made elsewhere.
	expected map[uint64]*expectation
	reported map[uint64]bool   // peers whose LinkUp has returned, until their LinkDown
	refused  map[uint64]bool   // peers of which Refused has told; one report each
	answered map[string]uint64 // who answered at a configured address
	failed   map[string]error  // why there was no link to a configured address when it was dialled last; nil: there was
	offered  map[uint64]bool   // sessions of greetings that are under way
	misses   map[uint64]int    // how often a peer was not found at its slot
	regions  map[rdma.Key]*export
	wanted   map[rdma.Key][]want
	wants    map[link]int // entries of wanted by link
}

// maxWants bounds the regions that one peer may wait for.
const maxWants = 1 << 12

type link interface {
	rdma.Link
	Run()
	Close()
}

type export struct {
	region *rdma.Region
	memory *shm.Memory // nil: heap
}

// want is a request for a region that is not registered yet.
type want struct {
	l     link
	shape rdma.Shape
}

// New finds peers. The bell is the one that the node's poller sleeps on.
func New(cfg Config, bell *shm.BellMemory, events rdma.Events) (*Fabric, error) {
	host, _ := os.Hostname()
	f := &Fabric{
		cfg: cfg, bell: bell, fence: rdma.NewFence(bell.FenceWord()), events: events,
		self: rdma.PeerInfo{
			ID: cfg.ID, Domain: cfg.Domain, Host: host, PID: uint32(os.Getpid()), Name: cfg.Name, Fingerprint: cfg.Fingerprint,
		},
		links: map[uint64]link{}, dialing: map[string]bool{}, expected: map[uint64]*expectation{},
		reported: map[uint64]bool{}, refused: map[uint64]bool{}, answered: map[string]uint64{}, failed: map[string]error{}, offered: map[uint64]bool{}, misses: map[uint64]int{},
		regions: map[rdma.Key]*export{}, wanted: map[rdma.Key][]want{}, wants: map[link]int{},
		greetTimeout: greetTimeout, firstDialTime: firstDialTime,
	}
	if !cfg.TCP {
		f.self.ShmDomain = shmDomain()
		f.self.Thread = rdma.Canary()
	}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	listen := cfg.Listen
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	var err error
	if f.tcpL, err = net.Listen("tcp", listen); err != nil {
		return nil, fmt.Errorf("fabric: listen on %s: %w", listen, err)
	}
	f.self.Addr = reachableAt(f.tcpL.Addr(), cfg.Peers)
	if err := f.bindSlot(); err != nil {
		f.tcpL.Close()
		return nil, err
	}
	return f, nil
}

// Self is what this node tells of itself.
func (f *Fabric) Self() rdma.PeerInfo { return f.self }

// Start begins to accept and to look for peers; events come from now on.
func (f *Fabric) Start() {
	f.spawn("accept", f.acceptUnix)
	f.spawn("accept", f.acceptTCP)
	f.spawn("scan", f.scan)
}

// spawn runs a goroutine that Close waits for.
func (f *Fabric) spawn(what string, run func()) {
	f.wg.Go(func() {
		pprof.Do(f.ctx, pprof.Labels("dds", "fabric "+what), func(context.Context) { run() })
	})
}

// shmDomain is equal for nodes that can map each other's memory: same kernel, same network
// namespace (abstract sockets belong to one), same user.
func shmDomain() uint64 {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	netns, _ := os.Readlink("/proc/self/ns/net")
	h := fnv.New64a()
	fmt.Fprintf(h, "%s|%s|%d", strings.TrimSpace(string(boot)), netns, os.Getuid())
	return h.Sum64() | 1
}

func (f *Fabric) slotName(slot int) string {
	return fmt.Sprintf("@omg-dds/%d/%d/%d", os.Getuid(), f.cfg.Domain, slot)
}

func (f *Fabric) bindSlot() error {
	for slot := range Slots {
		l, err := net.ListenUnix("unixpacket", &net.UnixAddr{Name: f.slotName(slot), Net: "unixpacket"})
		if err == nil {
			f.unix, f.self.Slot = l, uint32(slot)
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("fabric: bind rendezvous slot %d: %w", slot, err)
		}
	}
	return fmt.Errorf("%w (%d)", ErrSlots, Slots)
}

// Bell implements rdma.Fabric.
func (f *Fabric) Bell() *rdma.Bell { return f.bell.Bell() }

// Fence implements rdma.Fabric.
func (f *Fabric) Fence() *rdma.Fence { return f.fence }

// LowerFence implements rdma.Fabric.
func (f *Fabric) LowerFence(value uint32) {
	f.fence.Lower(value)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, l := range f.links {
		if l, ok := l.(*tcp.Link); ok {
			l.FenceLowered()
		}
	}
}

// Register implements rdma.Fabric.
func (f *Fabric) Register(key rdma.Key, shape rdma.Shape) (*rdma.Region, error) {
	if err := shape.Check(); err != nil {
		return nil, err
	}
	e := &export{}
	if f.cfg.TCP {
		e.region = rdma.NewHeapRegion(shape)
	} else {
		m, err := shm.Create(shape.Size())
		if err != nil {
			return nil, err
		}
		e.memory, e.region = m, shm.RegionOver(shape, m)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.regions[key] != nil {
		return nil, fmt.Errorf("fabric: %s is registered already", key)
	}
	f.regions[key] = e
	for _, w := range f.wanted[key] {
		f.wants[w.l]--
		e.serve(w.l, key, w.shape)
	}
	delete(f.wanted, key)
	return e.region, nil
}

// Deregister implements rdma.Fabric.
func (f *Fabric) Deregister(key rdma.Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e := f.regions[key]
	if e == nil {
		return
	}
	delete(f.regions, key)
	if e.memory != nil {
		e.memory.Seclude() // the mapping lasts as long as somebody refers to the region
	}
	for _, l := range f.links {
		if l, ok := l.(*tcp.Link); ok {
			l.Withdraw(key)
		}
	}
}

func (e *export) serve(l link, key rdma.Key, shape rdma.Shape) {
	var err error
	if own := e.region.Shape(); !own.Serves(shape) {
		err = fmt.Errorf("shape %+v asked for, %+v registered", shape, own)
	}
	e.answer(l, key, shape, err)
}

// answer answers a request for e, which is empty if err is not nil.
func (e *export) answer(l link, key rdma.Key, shape rdma.Shape, err error) {
	switch l := l.(type) {
	case *shm.Link:
		l.Export(key, e.memory, err)
	case *tcp.Link:
		l.Export(key, e.region, shape.Ring > 0, err)
	}
}

func (f *Fabric) want(l link, key rdma.Key, shape rdma.Shape) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := f.regions[key]; {
	case e != nil:
		e.serve(l, key, shape)
	case f.wants[l] >= maxWants:
		(&export{}).answer(l, key, shape, fmt.Errorf("%d requests are waiting already", maxWants))
	default:
		f.wants[l]++
		f.wanted[key] = append(f.wanted[key], want{l, shape})
	}
}

// forget drops what a link that is down has asked for. The caller holds mu.
func (f *Fabric) forget(l link) {
	if f.wants[l] > 0 {
		for key, ws := range f.wanted {
			if ws = slices.DeleteFunc(ws, func(w want) bool { return w.l == l }); len(ws) > 0 {
				f.wanted[key] = ws
			} else {
				delete(f.wanted, key)
			}
		}
	}
	delete(f.wants, l)
}

type shmExporter struct{ f *Fabric }

func (x shmExporter) Want(l *shm.Link, k rdma.Key, s rdma.Shape) { x.f.want(l, k, s) }

func (x shmExporter) Offer(l *shm.Link, k rdma.Key) {
	x.f.mu.Lock()
	defer x.f.mu.Unlock()
	if e := x.f.regions[k]; e != nil {
		l.Offer(k, e.region.Shape(), e.memory)
	}
}

type tcpExporter struct{ f *Fabric }

func (x tcpExporter) Want(l *tcp.Link, k rdma.Key, s rdma.Shape) { x.f.want(l, k, s) }

// Close ends all links after what was sent and posted has gone out, and waits for every goroutine
// of the fabric. Regions stay mapped for whoever refers to them.
func (f *Fabric) Close() error {
	f.mu.Lock()
	f.closed = true
	var links []link
	for _, l := range f.links {
		if l != nil { // a greeting under way finds closed set
			links = append(links, l)
		}
	}
	f.mu.Unlock()
	f.cancel()
	f.unix.Close()
	f.tcpL.Close()
	var ends sync.WaitGroup
	for _, l := range links {
		ends.Go(l.Close) // each may wait for its peer
	}
	ends.Wait()
	f.wg.Wait()
	f.mu.Lock()
	defer f.mu.Unlock()
	for key, e := range f.regions {
		if e.memory != nil {
			e.memory.Seclude()
		}
		delete(f.regions, key)
	}
	clear(f.wanted)
	return nil
}
