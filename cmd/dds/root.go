package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/omg-dds-go/dds/internal/suggest"
)

// The exit status; see the package comment.
const (
	exitOK          = 0
	exitCriteria    = 1
	exitUsage       = 2
	exitFailure     = 3
	exitInterrupted = 130
)

// usageError is an error of whoever typed the command.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

var (
	// errCriteria: the measurement worked, what it measured does not suffice. The verdicts were printed.
	errCriteria    = errors.New("criteria not met")
	errInterrupted = errors.New("interrupted")
)

// endings are the signals that end a command in good order. Asking for a signal undoes that it is ignored, so that a closed
// terminal is not one of them under nohup.
func endings() []os.Signal {
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

// run runs one command line.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), endings()...)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C does what it does to any program

	root := newRoot()
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-help" { // as the other programs of this repository say it
			args[i] = "--help"
		}
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	cmd, err := root.ExecuteContextC(ctx)
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errCriteria):
		return exitCriteria
	case errors.Is(err, errInterrupted), ctx.Err() != nil:
		fmt.Fprintln(stderr, "dds: interrupted")
		return exitInterrupted
	case errors.As(err, &usage):
		fmt.Fprintf(stderr, "dds: %v\nSee %s --help.\n", err, cmd.CommandPath())
		return exitUsage
	}
	fmt.Fprintln(stderr, "dds:", err)
	return exitFailure
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "dds",
		Short: "The command-line tool of this DDS",
		Long: `dds measures a DDS domain, and reads QoS profiles.

  dds perf run                      how fast is it on this machine?
  dds perf run --readers 4 -s 10K   one writer to four readers, samples of 10 KB
  dds perf run --roundtrip -r 1k    round trips, a thousand a second
  dds perf                          what else can be measured
  dds qos validate qos.xml          is this file right? (XML of any vendor, or YAML)
  dds qos                           what else can be done with profiles

Processes of one host and user find each other by the number of their domain (-d). Between hosts, use
--transport tcp and name a process of the other host with --peer.`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{nearestFlag(cmd, err)} })
	root.AddCommand(
		newPerf(),
		newQos(),
	)
	teach(root)
	return root
}

// teach makes a command that only has subcommands print its help, and every command refuse what it does not know as
// wrong use.
func teach(cmd *cobra.Command) {
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	accepts := cmd.Args
	if accepts == nil {
		accepts = cobra.NoArgs
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := accepts(cmd, args); err != nil {
			return usageError{nearestCommand(cmd, args, err)}
		}
		return nil
	}
	for _, c := range cmd.Commands() {
		teach(c)
	}
}

// nearestCommand adds to an error about a command that does not exist which one may be meant.
func nearestCommand(cmd *cobra.Command, args []string, err error) error {
	if !cmd.HasSubCommands() || len(args) == 0 {
		return err
	}
	return hinted(err, suggest.DidYouMean(args[0], func(yield func(string) bool) {
		for _, c := range cmd.Commands() {
			if c.IsAvailableCommand() && !yield(c.Name()) {
				return
			}
		}
	}))
}

// nearestFlag is nearestCommand for a flag. Of a value that is no number, or no time, it says what would be one.
func nearestFlag(cmd *cobra.Command, err error) error {
	if wrong := (*pflag.InvalidValueError)(nil); errors.As(err, &wrong) {
		if want := wanted(wrong); want != "" {
			what, _, _ := strings.Cut(err.Error(), " flag: ")
			return fmt.Errorf("%s flag: %s", what, want)
		}
		return err
	}
	name, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return err
	}
	near := suggest.DidYouMean(name, func(yield func(string) bool) {
		more := true
		cmd.Flags().VisitAll(func(f *pflag.Flag) { more = more && yield(f.Name) })
	})
	return hinted(err, strings.Replace(near, "did you mean ", "did you mean --", 1))
}

// wanted says what a flag takes whose value a parser of the standard library has refused; "" if our own did.
func wanted(wrong *pflag.InvalidValueError) string {
	value := wrong.GetValue()
	number := (*strconv.NumError)(nil)
	switch kind := wrong.GetFlag().Value.Type(); {
	case kind == "duration":
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			return "a time needs its unit: write " + value + "s"
		}
		return "write a time with its unit, such as 5s or 200ms"
	case kind == "uint32":
		return fmt.Sprintf("write a number from 0 to %d", uint32(math.MaxUint32))
	case kind == "uint64":
		return "write a number from 0"
	case kind == "int", errors.As(wrong, &number):
		return "write a number"
	}
	return ""
}

func hinted(err error, hint string) error {
	if hint == "" {
		return err
	}
	return fmt.Errorf("%w; %s", err, hint)
}

// version is that of the module, or the commit, that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return fmt.Sprintf("%s (%s)", info.Main.Version, info.GoVersion)
}
