package main

import (
	"context"
	"os"
	"os/signal"

	"github.com/omg-dds-go/dds/derecho/cluster"
)

func main() {
	cluster.TuneGC()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
