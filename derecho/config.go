package derecho

import (
	"fmt"
	"os"
	"path/filepath"
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
	Transport   Transport // default shm
	Peers       []string  // tcp addresses (host:port) of nodes on other hosts
	Listen      string    // tcp address to listen on; default 127.0.0.1:0
	// OpenLog opens the log of a Logged subgroup, when the first endpoint of this node needs it.
	OpenLog func(sg SubgroupID) (Log, error)

	// fabric replaces the network in tests.
	fabric fabricMaker
}

const (
	defaultRing = 1 << 20
	controlRing = 128 << 10
)

func (c *Config) complete() error {
	if c.Name == "" {
		c.Name = filepath.Base(os.Args[0])
	}
	if c.RingBytes == 0 {
		c.RingBytes = defaultRing
	}
	if c.RingBytes < 1<<12 || c.RingBytes > 1<<30 || c.RingBytes&(c.RingBytes-1) != 0 {
		return fmt.Errorf("%w: RingBytes is %d, want a power of two from 4096 to %d", ErrConfig, c.RingBytes, 1<<30)
	}
	switch c.Transport {
	case "":
		c.Transport = TransportShm
	case TransportShm, TransportTCP:
	default:
		return fmt.Errorf("%w: transport %q, want %q or %q", ErrConfig, c.Transport, TransportShm, TransportTCP)
	}
	c.Fingerprint = fmt.Sprintf("ring=%d %s", c.RingBytes, c.Fingerprint)
	return nil
}
