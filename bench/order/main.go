package main

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"strings"
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
	replica  int    // -1: the process that starts the others
	ports    string // of the replicas, comma-separated
}

// engine is one implementation. A replica that runs as a process of its own has one writer.
type engine interface {
	// write hands a message over and calls done, on any goroutine, when it is ordered or has failed. It may block.
	write(message []byte, done func(error))
	close()
}

// engines make the replica with this index among those at addresses; they call deliver, on one goroutine, for each message
// in the common order, and return when the replica can order messages.
var engines = map[string]func(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error){
	"nats": newNATS,
	"raft": newRaft,
}

func main() {
	var c config
	flag.StringVar(&c.impl, "impl", "raft", "nats, raft or etcd")
	flag.IntVar(&c.size, "size", 1024, "bytes of a message")
	flag.IntVar(&c.inflight, "inflight", 1000, "messages in flight, all writers together")
	flag.DurationVar(&c.duration, "duration", 2*time.Second, "of each of the two measurements")
	flag.DurationVar(&c.warmup, "warmup", 500*time.Millisecond, "before each")
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
	case c.impl == "etcd":
		return runEtcd(ctx, c)
	case engines[c.impl] == nil:
		return fmt.Errorf("-impl %q: not one of nats, raft, etcd", c.impl)
	case c.replica < 0:
		return startReplicas(ctx, c)
	}
	return runReplica(ctx, c)
}

// portsEach is how many ports a replica needs: for peers and, with NATS, for clients.
const portsEach = 2

// freePorts finds ports that are free now; on a loopback interface of one's own they remain so.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("no free port: %w", err)
		}
		defer l.Close() // all at the end, so that no port is found twice
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

func runReplica(ctx context.Context, c config) error {
	var addresses []string
	for _, p := range strings.Split(c.ports, ",") {
		addresses = append(addresses, "127.0.0.1:"+p)
	}
	w := newWorkload(c)
	e, err := engines[c.impl](ctx, c, addresses, w.deliver)
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
