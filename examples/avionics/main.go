package main

import (
	_ "embed"
	"errors"
	"flag"
	"os"
	"runtime"

	"github.com/omg-dds-go/dds/examples/avionics/internal/conductor"
	"github.com/omg-dds-go/dds/examples/avionics/internal/roles"
)

//go:generate go run github.com/omg-dds-go/dds/cmd/idlgen -o internal/avionics avionics.idl

//go:embed qos.xml
var qosFile string

// Processes are children of this thread: they are killed when it ends.
func init() { runtime.LockOSThread() }

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	if len(args) == 2 && args[0] == conductor.RoleArgument {
		return roles.Run(os.Stdin, os.NewFile(3, "events"))
	}
	opts, err := conductor.Parse(args, os.Stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	return conductor.Run(opts, qosFile, os.Stdout, os.Stderr)
}
