package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// natsReplica is a NATS server in this process, with a client of its own over TCP.
type natsReplica struct {
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	acks   *waiter
	stop   func()
	dir    string
}

const subject = "order"

func newNATS(ctx context.Context, c config, addresses []string, deliver func([]byte)) (engine, error) {
	dir, err := os.MkdirTemp("", "order-nats")
	if err != nil {
		return nil, err
	}
	n := &natsReplica{dir: dir, acks: newWaiter(c.inflight), stop: func() {}}
	if err := n.start(ctx, c, addresses, deliver); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *natsReplica) start(ctx context.Context, c config, addresses []string, deliver func([]byte)) error {
	o := &server.Options{
		ServerName: "replica" + strconv.Itoa(c.replica), NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: n.dir, JetStreamMaxMemory: 8 << 30,
	}
	o.Cluster.Name = "order"
	for i := range replicas {
		peer, client := addresses[portsEach*i], addresses[portsEach*i+1]
		if i == c.replica {
			var err error
			if o.Cluster.Host, o.Cluster.Port, err = split(peer); err != nil {
				return err
			}
			if o.Host, o.Port, err = split(client); err != nil {
				return err
			}
		}
		o.Routes = append(o.Routes, &url.URL{Scheme: "nats", Host: peer})
	}
	s, err := server.NewServer(o)
	if err != nil {
		return err
	}
	n.server = s
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		return errors.New("the server is not ready for connections after 10 s")
	}
	if n.conn, err = nats.Connect(s.ClientURL()); err != nil {
		return err
	}
	if n.js, err = jetstream.New(n.conn, jetstream.WithPublishAsyncMaxPending(c.inflight)); err != nil {
		return err
	}
	return n.consume(ctx, deliver)
}

func split(address string) (host string, port int, err error) {
	u, err := url.Parse("nats://" + address)
	if err != nil {
		return "", 0, err
	}
	port, err = strconv.Atoi(u.Port())
	return u.Hostname(), port, err
}

// consume makes the stream, or finds it made by another replica, and an ordered consumer of it.
func (n *natsReplica) consume(ctx context.Context, deliver func([]byte)) error {
	var stream jetstream.Stream
	err := retry(ctx, func() error {
		once, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		var err error
		stream, err = n.js.CreateStream(once, jetstream.StreamConfig{
			Name: "ORDER", Subjects: []string{subject}, Storage: jetstream.MemoryStorage, Replicas: replicas,
			MaxBytes: 1 << 30, Discard: jetstream.DiscardOld, // what is ordered and delivered need not stay
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("the stream cannot be made: %w", err)
	}
	consumer, err := stream.OrderedConsumer(ctx, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("the consumer cannot be made: %w", err)
	}
	consuming, err := consumer.Consume(func(m jetstream.Msg) { deliver(m.Data()) })
	if err != nil {
		return fmt.Errorf("consume: %w", err)
	}
	n.stop = consuming.Stop
	return nil
}

// retry calls try until it succeeds; an election may be under way.
func retry(ctx context.Context, try func() error) error {
	t := time.NewTicker(100 * time.Millisecond)
	defer t.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-t.C:
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		}
	}
}

func (n *natsReplica) write(message []byte, done func(error)) {
	f, err := n.js.PublishAsync(subject, message)
	if err != nil {
		done(err)
		return
	}
	n.acks.push(func() error {
		select {
		case <-f.Ok():
			return nil
		case err := <-f.Err():
			return err
		}
	}, done)
}

func (*natsReplica) keeps() bool { return true }

func (n *natsReplica) close() {
	n.acks.close()
	n.stop()
	if n.conn != nil {
		n.conn.Close()
	}
	if n.server != nil {
		n.server.Shutdown()
		n.server.WaitForShutdown()
	}
	_ = os.RemoveAll(n.dir) // it holds nothing but names
}
