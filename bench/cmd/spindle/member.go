package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/omg-dds-go/dds/derecho"
)

// lease is long, since there may be many more processes than cores.
const lease = 5 * time.Second

// stampEvery tells how many messages are sent for one that carries the time: to read the clock costs as much as a small message.
const stampEvery = 16

// runMember is a process of a run. It says "ready" when all endpoints are known, begins when it is told to, prints an
// outcome, and sends on until its standard input ends, so that it delays nobody who is still measuring.
func runMember(told string) error {
	var m member
	if err := json.Unmarshal([]byte(told), &m); err != nil {
		return err
	}
	off, err := derecho.ParseSpindle(m.Off)
	if err != nil {
		return err
	}
	h := newHandler(m.workload)
	n, err := derecho.Join(context.Background(), derecho.Config{Domain: m.Domain, Transport: derecho.Transport(m.Transport),
		Lease: lease, RingBytes: m.Ring, Spindle: off}, h)
	if err != nil {
		return err
	}
	h.self.Store(uint64(n.ID()))
	for s := range m.Subgroups {
		sg := derecho.Subgroup{ID: derecho.SubgroupID(s + 1), Mode: derecho.Ordered}
		ep := derecho.Endpoint{ID: derecho.EndpointID(s + 1), Channel: derecho.ChannelID(s + 1), Writes: sg, Reads: []derecho.Subgroup{sg}}
		if err := n.AddEndpoint(context.Background(), ep); err != nil {
			return err
		}
	}
	<-h.complete
	in := bufio.NewReader(os.Stdin)
	fmt.Println("ready")
	if _, err := in.ReadString('\n'); err != nil {
		return fmt.Errorf("the parent is gone: %w", err)
	}
	failed := make(chan error, m.Threads)
	for range m.Threads {
		go func() { failed <- m.send(n) }()
	}
	done := make(chan error, 1)
	go func() { done <- m.measure(h, in) }()
	select {
	case err := <-done: // the process ends without leaving: all do
		return err
	case err := <-failed:
		return errors.Join(errors.New("send"), err)
	}
}

func (m *member) measure(h *handler, in *bufio.Reader) error {
	sleep(m.Warmup)
	before := h.counts()
	h.measuring.Store(true)
	sleep(m.Duration)
	h.measuring.Store(false)
	after := h.counts()
	// The rings of epochs that were gone through while processes came are given back with what refers to them, when it
	// is collected (ADR 0009). The second collection comes after the cleanups of the first.
	runtime.GC()
	runtime.GC()
	o := outcome{
		Messages: after.messages - before.messages, Upcalls: after.upcalls - before.upcalls,
		Writes: after.writes - before.writes, Reads: after.reads - before.reads,
		Seconds: after.at.Sub(before.at).Seconds(), Mapped: mapped(),
	}
	o.P50, o.P99 = h.percentiles()
	if err := json.NewEncoder(os.Stdout).Encode(o); err != nil {
		return err
	}
	_, _ = in.ReadString('\n')
	return nil
}

// send sends for as long as the process lives; it returns only an error.
func (m *member) send(n *derecho.Node) error {
	slow := m.Index >= m.Processes-m.Slow
	if slow && m.Delay == forever || m.Rate > 0 && m.Index > 0 {
		select {}
	}
	content := make([]byte, m.Size)
	for k := 0; ; k++ {
		stamp := int64(0)
		if m.Rate > 0 || k%stampEvery == 0 {
			stamp = monotonic()
		}
		sg := k % m.Active
		s, err := n.Reserve(context.Background(), derecho.SubgroupID(sg+1), derecho.ChannelID(sg+1), m.Size, time.Time{})
		if err != nil {
			return err
		}
		copy(s.Bytes(), content) // all of it: that is what an application does
		binary.LittleEndian.PutUint64(s.Bytes(), uint64(stamp))
		s.Commit(derecho.Header{Writer: derecho.EndpointID(sg + 1)}, m.Size)
		switch {
		case m.Rate > 0:
			sleep(time.Second / time.Duration(m.Rate))
		case slow:
			wait(m.Delay)
		}
	}
}

// sleepAbove is from where on a wait is a sleep: who spins for longer takes the core from processes that have none of
// their own here, other than in the paper.
const sleepAbove = 10 * time.Microsecond

func wait(d time.Duration) {
	if d > sleepAbove {
		sleep(d)
		return
	}
	for begin := time.Now(); time.Since(begin) < d; {
	}
}

// sleep is that of the kernel: the timers of the Go runtime are looked at when a processor is idle, of which there is none here.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	for unix.Nanosleep(&t, &t) == unix.EINTR {
	}
}

// calls is how many system calls of this process wrote something, and read something, 0 where the kernel does not tell.
func calls() (writes, reads int64) {
	b, _ := os.ReadFile("/proc/self/io")
	for line := range strings.Lines(string(b)) {
		name, count, _ := strings.Cut(line, ":")
		n, _ := strconv.ParseInt(strings.TrimSpace(count), 10, 64)
		switch name {
		case "syscw":
			writes = n
		case "syscr":
			reads = n
		}
	}
	return writes, reads
}

// mapped is the memory of this process that others map, too, or could: 0 where the kernel does not tell.
func mapped() (bytes int64) {
	b, _ := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(b)) {
		var from, to int64
		var access string
		if n, _ := fmt.Sscanf(line, "%x-%x %s", &from, &to, &access); n == 3 && strings.HasSuffix(access, "s") {
			bytes += to - from
		}
	}
	return bytes
}

// monotonic is the clock that all processes of the host share.
func monotonic() int64 {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t)
	return t.Nano()
}
