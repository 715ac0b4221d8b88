package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

const replicas = 3

// config is the same in all processes of a run; the flags of the first are passed on.
type config struct {
	impl     string
	size     int
	inflight int // of all writers together
	duration time.Duration
	warmup   time.Duration
	hosts    hosts
	profiles string // directory
	replica  int    // -1: the process that starts the others
	ports    string // of the replicas, comma-separated
}

// engine is one implementation. A replica that runs as a process of its own has one writer.
type engine interface {
	// write hands a message over and calls done, on any goroutine, when it is ordered or has failed. It may block.
	write(message []byte, done func(error))
	// keeps tells whether a message is still needed after write has returned.
	keeps() bool
	close()
}

// engines make the replica with this index among those at addresses; they call deliver, on one goroutine, for each message
// in the common order, and return when the replica can order messages.
var engines = map[string]func(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error){
	"dds-go": newDDS,
	"nats":   newNATS,
	"raft":   newRaft,
	"etcd":   newEtcd,
}

// What is none: the bare stream, and three nodes without a network.
const (
	bareStream    = "tcp"
	etcdInProcess = "etcd-in-process"
)

func main() {
	var c config
	flag.StringVar(&c.impl, "impl", "raft", "dds-go, nats, raft, etcd, etcd-in-process or tcp")
	flag.IntVar(&c.size, "size", 1024, "bytes of a message")
	flag.IntVar(&c.inflight, "inflight", 1000, "messages in flight, all writers together")
	flag.DurationVar(&c.duration, "duration", 2*time.Second, "of each of the two measurements")
	flag.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "before each")
	flag.Var(&c.hosts, "hosts", "network namespaces of the replicas with their addresses, such as a=10.0.0.1,b=10.0.0.2,c=10.0.0.3; one host if empty")
	flag.StringVar(&c.profiles, "cpuprofile", "", "write a CPU profile of each replica into this directory, which exists")
	flag.IntVar(&c.replica, "replica", -1, "internal: index of this replica")
	flag.StringVar(&c.ports, "ports", "", "internal: ports of the replicas")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, time.Minute+2*(c.duration+c.warmup))
	defer cancel()
	if err := run(ctx, c); err != nil {
		fmt.Fprintln(os.Stderr, "order:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, c config) error {
	switch {
	case c.size < headerBytes || c.inflight < replicas:
		return fmt.Errorf("-size %d -inflight %d: at least %d and %d", c.size, c.inflight, headerBytes, replicas)
	case c.impl == etcdInProcess:
		return runInProcess(ctx, c)
	case engines[c.impl] == nil && c.impl != bareStream:
		return fmt.Errorf("-impl %q: not one of dds-go, nats, raft, etcd, etcd-in-process, tcp", c.impl)
	case c.replica < 0:
		return startReplicas(ctx, c)
	}
	stop, err := c.profile()
	if err != nil {
		return err
	}
	return errors.Join(runRole(ctx, c), stop())
}

// profile begins one, if it was asked for.
func (c config) profile() (stop func() error, err error) {
	if c.profiles == "" {
		return func() error { return nil }, nil
	}
	f, err := os.Create(filepath.Join(c.profiles, fmt.Sprintf("%s-%d.pprof", c.impl, c.replica)))
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}

func runRole(ctx context.Context, c config) error {
	if c.impl == bareStream {
		return stream(ctx, c, c.hosts.addresses(c.ports))
	}
	return runReplica(ctx, c)
}

func runReplica(ctx context.Context, c config) error {
	w := newWorkload(c)
	e, err := engines[c.impl](ctx, c, c.hosts.addresses(c.ports), w.deliver)
	if err != nil {
		return fmt.Errorf("%s: %w", c.impl, err)
	}
	defer e.close()
	if err := w.run(ctx, e); err != nil {
		return fmt.Errorf("%s: %w", c.impl, err)
	}
	if err := result.Write(os.Stdout, w.results...); err != nil {
		return err
	}
	return awaitOthers()
}
