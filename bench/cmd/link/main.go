package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

// readerMark and writerMark are the first argument of the two processes of a run.
const (
	readerMark = "reader"
	writerMark = "writer"
)

type config struct {
	rounds   int
	duration time.Duration
	warmup   time.Duration
	sizes    []int
	rate     float64
	ring     int
	window   int
	tell     int
	sockets  []string
	against  []string
}

func main() {
	if len(os.Args) > 2 && (os.Args[1] == readerMark || os.Args[1] == writerMark) {
		if err := play(os.Args[1], os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "link:", os.Args[1:], err)
			os.Exit(1)
		}
		return
	}
	c, isolated, err := parse(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "link:", err)
		os.Exit(2)
	}
	work := func() int {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		if err := compare(ctx, c, isolated); err != nil {
			fmt.Fprintln(os.Stderr, "link:", err)
			return 1
		}
		return 0
	}
	if isolated {
		os.Exit(isolate.Main(work))
	}
	os.Exit(work())
}

func parse(args []string) (c config, isolated bool, err error) {
	f := flag.NewFlagSet("link", flag.ContinueOnError)
	f.IntVar(&c.rounds, "rounds", 5, "how often each variant has its turn")
	f.DurationVar(&c.duration, "duration", 500*time.Millisecond, "of one run")
	f.DurationVar(&c.warmup, "warmup", 200*time.Millisecond, "before each run")
	sizes := f.String("sizes", "1024,10240,1048576", "bytes of a message, comma-separated")
	f.Float64Var(&c.rate, "rate", 0, "messages a second; 0: as many as there is room for")
	f.IntVar(&c.ring, "ring", 4<<20, "bytes of the ring, a power of two")
	f.IntVar(&c.window, "window", 0, "bytes that may be on their way; 0: a ring")
	f.IntVar(&c.tell, "tell", 0, "bytes after which the reader tells how far it has read; 0: whenever it has read")
	names := f.String("sockets", "default", "settings of sockets, comma-separated")
	against := f.String("against", "", "other builds of this program, comma-separated")
	f.BoolVar(&isolated, "isolate", true, "between two network namespaces; without it over the loopback interface")
	if err := f.Parse(args); err != nil {
		return c, false, err
	}
	for _, s := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < stampBytes || n > c.ring {
			return c, false, fmt.Errorf("-sizes %q: not a size from %d to the ring's", s, stampBytes)
		}
		c.sizes = append(c.sizes, n)
	}
	if *against != "" {
		c.against = strings.Split(*against, ",")
	}
	c.sockets = strings.Split(*names, ",")
	for _, s := range c.sockets {
		if _, ok := sockets[s]; !ok {
			return c, false, fmt.Errorf("-sockets %q: not known", s)
		}
	}
	switch {
	case f.NArg() > 0:
		return c, false, fmt.Errorf("%q: there are no arguments besides flags", f.Args())
	case c.rounds < 1:
		return c, false, fmt.Errorf("-rounds %d: at least 1", c.rounds)
	case c.ring < 4096 || c.ring&(c.ring-1) != 0:
		return c, false, fmt.Errorf("-ring %d: not a power of two from 4096", c.ring)
	}
	if c.window == 0 {
		c.window = c.ring
	}
	if c.window < slices.Max(c.sizes) || c.window > c.ring {
		return c, false, fmt.Errorf("-window %d: less than a message, or more than the ring", c.window)
	}
	if c.tell < 0 || c.tell > c.window/2 {
		return c, false, fmt.Errorf("-tell %d: more than half a window", c.tell)
	}
	return c, isolated, nil
}
