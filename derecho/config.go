package derecho

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/omg-dds-go/dds/rdma"
)

// Transport selects how nodes of one host talk.
type Transport string

const (
	// TransportShm shares memory on a host and uses tcp between hosts.
	TransportShm Transport = "shm"
	// TransportTCP uses tcp everywhere.
	TransportTCP Transport = "tcp"
)

// Config is what a node is started with.
type Config struct {
	Domain      uint32
	Name        string    // for other nodes' messages; default: name of the program
	Fingerprint string    // configuration of the layer above that all members must share
	RingBytes   int       // of one sender in one subgroup: a power of two; default 1 MiB
	MaxRing     int       // to which the rings of this node grow for messages that do not fit: a power of two; default 1 GiB, RingBytes for never
	Transport   Transport // default shm
	Peers       []string  // tcp addresses (host:port) of nodes on other hosts
	Listen      string    // tcp address to listen on; default 127.0.0.1:0
	// LogState tells what the log of a Logged subgroup holds of a channel on disk, each time that the node announces an
	// endpoint that keeps it. It is called like a Handler: it must not block.
	LogState func(sg SubgroupID, ch ChannelID) *LogState
	// Lease is how long a member may be silent before it is suspected; default 500 ms. All members
	// have the same.
	Lease time.Duration
	// Spin is how long a goroutine that lends itself looks for work before it sleeps; default 30 µs. Of several nodes
	// of a process the longest counts.
	Spin time.Duration
	// Slice is the time slice that the threads of this process ask the scheduler for, if they have a longer one
	// (docs/adr/0035): rdma.MinSlice to rdma.MaxSlice; default rdma.MinSlice; -1 leaves them what they have. Of several
	// nodes of a process the shortest counts.
	Slice time.Duration
	// Witness names a node whose vote decides when the members are split into halves; "" for none.
	// All members name the same.
	Witness string
	// RestartWait is how long, when the members of a Logged subgroup come back after all of them were
	// gone and a majority of their logs is there, the others are waited for before that is enough; default 10 s.
	RestartWait time.Duration
	// LogTimeout is how long a log may take for one call, or for a part of one (EpochStart.Moves). After it the log has
	// failed: a disk that hangs would stop the senders of its subgroup for ever, while the heartbeats of the node go
	// on. Default 30 s, after which Linux gives a command to a disk up.
	LogTimeout time.Duration
	// SilentAfter and SilentFor are after how many promises in a row, without a message of its own between them, and after what
	// time, a sender counts as silent (docs/adr/0017); default 16 and 20 ms. SilentFor -1: after no time.
	SilentAfter int
	SilentFor   time.Duration
	// StatePiece is how much of a state goes in one message; default and most 48 KiB or so.
	StatePiece int
	// Spindle switches optimizations off, for experiments. All members switch the same.
	Spindle Spindle
	// OpenLog opens the log of a Logged subgroup, when the first endpoint of this node needs it. It may take long, and
	// is called for others meanwhile. With it goes LogState.
	OpenLog func(sg SubgroupID) (Log, error)

	// fabric replaces the network in tests.
	fabric fabricMaker
}

const (
	defaultRing  = 1 << 20
	defaultLease = 500 * time.Millisecond
	minLease     = 10 * time.Millisecond

	defaultSilentAfter = 16
	defaultSilentFor   = 20 * time.Millisecond
	defaultRestartWait = 10 * time.Second
	defaultLogTimeout  = 30 * time.Second
	controlRing        = 128 << 10
)

// shortenSlices asks for Slice. Where it can not be had, a thread that is woken waits longer for a busy processor.
func (c *Config) shortenSlices() {
	if c.Slice > 0 {
		_ = rdma.ShortenSlices(c.Slice)
	}
}

func (c *Config) complete() error {
	if c.Name == "" {
		c.Name = filepath.Base(os.Args[0])
	}
	if c.RingBytes == 0 {
		c.RingBytes = defaultRing
	}
	if c.RingBytes < 1<<12 || c.RingBytes > rdma.MaxRing || c.RingBytes&(c.RingBytes-1) != 0 {
		return fmt.Errorf("%w: RingBytes is %d, want a power of two from 4096 to %d", ErrConfig, c.RingBytes, rdma.MaxRing)
	}
	if c.MaxRing == 0 {
		c.MaxRing = rdma.MaxRing
	}
	if c.MaxRing < c.RingBytes || c.MaxRing > rdma.MaxRing || c.MaxRing&(c.MaxRing-1) != 0 {
		return fmt.Errorf("%w: MaxRing is %d, want a power of two from RingBytes, %d, to %d", ErrConfig, c.MaxRing, c.RingBytes, rdma.MaxRing)
	}
	switch c.Transport {
	case "":
		c.Transport = TransportShm
	case TransportShm, TransportTCP:
	default:
		return fmt.Errorf("%w: transport %q, want %q or %q", ErrConfig, c.Transport, TransportShm, TransportTCP)
	}
	if c.Lease == 0 {
		c.Lease = defaultLease
	}
	if c.Lease < minLease || c.Lease > time.Hour {
		return fmt.Errorf("%w: Lease is %v, want %v to %v", ErrConfig, c.Lease, minLease, time.Hour)
	}
	if c.Spin == 0 {
		c.Spin = spinTime
	}
	if c.Spin < 0 {
		return fmt.Errorf("%w: Spin is %v", ErrConfig, c.Spin)
	}
	if c.Slice == 0 {
		c.Slice = rdma.MinSlice
	}
	if c.Slice != -1 && (c.Slice < rdma.MinSlice || c.Slice > rdma.MaxSlice) {
		return fmt.Errorf("%w: Slice is %v, want %v to %v, or -1", ErrConfig, c.Slice, rdma.MinSlice, rdma.MaxSlice)
	}
	if c.OpenLog != nil && c.LogState == nil {
		return fmt.Errorf("%w: OpenLog without LogState: a log gets only what it was announced for", ErrConfig)
	}
	if c.RestartWait == 0 {
		c.RestartWait = defaultRestartWait
	}
	if c.RestartWait < 0 {
		return fmt.Errorf("%w: RestartWait is %v", ErrConfig, c.RestartWait)
	}
	if c.LogTimeout == 0 {
		c.LogTimeout = defaultLogTimeout
	}
	if c.LogTimeout < 0 {
		return fmt.Errorf("%w: LogTimeout is %v", ErrConfig, c.LogTimeout)
	}
	if c.StatePiece == 0 {
		c.StatePiece = statePiece
	}
	if c.StatePiece < 1 || c.StatePiece > statePiece {
		return fmt.Errorf("%w: StatePiece is %d, want 1 to %d", ErrConfig, c.StatePiece, statePiece)
	}
	if c.SilentAfter == 0 {
		c.SilentAfter = defaultSilentAfter
	}
	if c.SilentFor == 0 {
		c.SilentFor = defaultSilentFor
	}
	if c.SilentAfter < 0 || c.SilentFor < -1 {
		return fmt.Errorf("%w: SilentAfter is %d, SilentFor %v", ErrConfig, c.SilentAfter, c.SilentFor)
	}
	c.Fingerprint = fmt.Sprintf("ring=%d lease=%v witness=%q %s", c.RingBytes, c.Lease, c.Witness, c.Fingerprint)
	if c.Spindle != (Spindle{}) {
		c.Fingerprint += " spindle=" + c.Spindle.String()
	}
	return nil
}
