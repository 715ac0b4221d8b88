package conductor

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/omg-dds-go/dds/examples/avionics/internal/recording"
	"github.com/omg-dds-go/dds/examples/avionics/internal/roles"
	"github.com/omg-dds-go/dds/internal/suggest"
)

// Options are what the command line says.
type Options struct {
	Flight    string
	SBS1      string
	Speed     float64 // 0: as fast as it goes
	Duration  time.Duration
	Dir       string
	Transport string
	JSON      bool
	Seed      uint64
	Traffic   int
	Late      time.Duration
	ADC1Off   time.Duration
	Chaos     time.Duration
	ChaosStop bool
	Domain    uint
	QoS       string
	GiveUp    time.Duration
	Timeout   time.Duration
}

const usage = `avionics: a small avionics system of seven processes on this host, which talk through DDS.

  adc1, adc2          air-data computers   AirData        unordered: 100 a second, the stronger one is seen
  nav                 navigation           Position       atomic: complete, and in one order for all
  traffic             ADS-B receiver       TrafficReport  volatile storage: who comes late gets the whole picture
  fms                 flight management    Advisory       atomic
                                           FlightLog      logged: on disk at every process that reads it
  display1, display2  cockpit displays: take everything, and must have seen the same

Without arguments it flies a made-up (synthetic) flight through made-up traffic for 10 seconds, shows what the displays
show, and ends with a table and a verdict.

usage: avionics [flags]

  # ten seconds, then the table
  go run ./examples/avionics -duration 10s

  # the same over TCP instead of shared memory
  go run ./examples/avionics -duration 10s -transport tcp

  # a recorded flight among recorded traffic, as fast as it goes
  go run ./examples/avionics -flight FILE.igc -sbs1 FILE -speed max

  # a minute in which a process is killed every five seconds, and the others go on
  go run ./examples/avionics -chaos 5s -duration 60s

  # live traffic from a receiver's BaseStation port (dump1090, readsb: 30003), until Ctrl-C
  go run ./examples/avionics -sbs1 localhost:30003

flags:
`

const afterFlags = `
Exit status: 0 verdict ok, 1 verdict failed or the run could not end in order, 2 wrong use.
The verdict fails when a sample of a reliable topic is missing, doubled or out of order at any process, when two
processes disagree on the order of a reliable topic, or when a log on disk differs from what was delivered. With -chaos that
holds for what is promised then: all or none of what a killed process had published, and all of what was acknowledged to it;
and it fails when air data came no more at a process after another was lost, though a computer sent some.
`

// speedValue is a time compression: a positive number, or max.
type speedValue float64

func (s *speedValue) String() string {
	if s == nil || *s == 0 {
		return "max"
	}
	return strconv.FormatFloat(float64(*s), 'g', -1, 64)
}

func (s *speedValue) Set(text string) error {
	if text == "max" {
		*s = 0
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 1e6) {
		return errors.New("want a number above 0 and up to 1000000, or max")
	}
	*s = speedValue(v)
	return nil
}

// Parse reads the command line; what it has to say about it goes to errs. The error is flag.ErrHelp for -h.
func Parse(args []string, errs io.Writer) (Options, error) {
	var o Options
	f := flag.NewFlagSet("avionics", flag.ContinueOnError)
	f.SetOutput(io.Discard) // what is wrong fits one line, and need not come with all the help
	speed := speedValue(1)
	f.StringVar(&o.Flight, "flight", "", "replay own-ship's flight from a flight recorder `FILE.igc` (default: synthetic)")
	f.StringVar(&o.SBS1, "sbs1", "", "take traffic from an SBS-1 recording or a live receiver: `FILE|host:port` (default: synthetic)")
	f.Var(&speed, "speed", "time compression: a number `X`, or max for as fast as the middleware takes it; air data stay at 100 a second, and a live receiver at its pace")
	f.DurationVar(&o.Duration, "duration", 0, "how long to run, on the clock of the wall (default: 10s if all inputs are synthetic and -speed is not max, else to the end of the inputs)")
	f.StringVar(&o.Dir, "dir", "", "keep the logs, in a directory of their own below `DIR` (default: a temporary one that is removed at the end)")
	f.StringVar(&o.Transport, "transport", "shm", "how the processes reach each other: shm (shared memory) or tcp")
	f.BoolVar(&o.JSON, "json", false, "write the summary as JSON to standard output, and everything else to standard error")
	f.Uint64Var(&o.Seed, "seed", 1, "`number` that the synthetic inputs and chaos are drawn from")
	f.IntVar(&o.Traffic, "traffic", 12, "how many synthetic aircraft, 1 to 200")
	f.DurationVar(&o.Late, "late-display", 0, "start display2 only after `D`, to see it get the whole traffic picture")
	f.DurationVar(&o.ADC1Off, "adc1-off", 0, "let adc1 fall silent after `D`, to see adc2 take over when adc1 has missed its DEADLINE")
	f.DurationVar(&o.Chaos, "chaos", 0, "kill a process every `D`, with SIGKILL, and start it again after a moment; which one and when is drawn from -seed")
	f.BoolVar(&o.ChaosStop, "chaos-stop", false, "with -chaos: stop half of the processes for a while (SIGSTOP) instead of killing them")
	f.UintVar(&o.Domain, "domain", 0, "DDS domain `number` (default: one that no other run on this host has)")
	f.StringVar(&o.QoS, "qos", "", "QoS `FILE.xml` to use instead of the built-in one")
	f.DurationVar(&o.GiveUp, "sbs1-wait", 5*time.Second, "how long a live receiver may not answer before its feed counts as ended")
	f.DurationVar(&o.Timeout, "timeout", 60*time.Second, "how long each step that waits for other processes may take")
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		f.SetOutput(errs)
		_, _ = io.WriteString(errs, usage)
		f.PrintDefaults()
		_, _ = io.WriteString(errs, afterFlags)
		return o, err
	}
	if err == nil {
		o.Speed = float64(speed)
		err = o.check(f.Args())
	}
	if err != nil {
		_, _ = fmt.Fprintf(errs, "avionics: %v%s\nRun with -help for help.\n", err, suggest.Flag(f, err))
	}
	return o, err
}

func (o *Options) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case o.Transport != "shm" && o.Transport != "tcp":
		return fmt.Errorf("-transport %q is not known; use shm or tcp", o.Transport)
	case o.Traffic < 1 || o.Traffic > 200:
		return fmt.Errorf("-traffic %d is not between 1 and 200", o.Traffic)
	case o.Duration < 0 || o.Late < 0 || o.ADC1Off < 0 || o.Chaos < 0:
		return errors.New("-duration, -late-display, -adc1-off and -chaos can not be negative")
	case o.ChaosStop && o.Chaos == 0:
		return errors.New("-chaos-stop stops nothing without -chaos")
	case o.Timeout <= 0 || o.GiveUp <= 0:
		return errors.New("-timeout and -sbs1-wait must be positive")
	case o.Domain > 1<<32-1:
		return fmt.Errorf("-domain %d is above %d", o.Domain, uint32(1<<32-1))
	}
	for _, file := range []struct{ flag, path string }{{"-flight", o.Flight}, {"-sbs1", o.SBS1}, {"-qos", o.QoS}} {
		if file.path == "" || file.flag == "-sbs1" && roles.IsAddress(file.path) {
			continue
		}
		f, err := recording.Open(file.path)
		if err != nil {
			return fmt.Errorf("%s: %w", file.flag, err)
		}
		_ = f.Close() // nothing was read: each process opens it for itself
	}
	if o.Duration == 0 && o.Flight == "" && o.SBS1 == "" && o.Speed != 0 {
		o.Duration = 10 * time.Second
	}
	if o.Late > 0 && o.Duration > 0 && o.Late >= o.Duration {
		return fmt.Errorf("-late-display %v is not before the end of the run, -duration %v", o.Late, o.Duration)
	}
	if o.Domain == 0 {
		o.Domain = domainBase + uint(os.Getpid())
	}
	return nil
}

// domainBase lies above the domain numbers that people use; process ids are below 2^22.
const domainBase = 1 << 24

func (o *Options) speedText() string {
	s := speedValue(o.Speed)
	return s.String()
}
