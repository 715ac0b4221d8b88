package chaos

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

var (
	flagSteps = flag.Int("chaos.steps", 6, "faults in each storm")
	flagRound = flag.Int("chaos.round", 40, "faults in one round of a storm")
	flagSeed  = flag.Uint64("chaos.seed", 0, "seed of the first round; 0 draws one")
	flagTimes = flag.Int("chaos.times", 2, "how often a time is taken; from 5 on also those that take long")
	flagStock = flag.Int("chaos.stock", 20_000, "how many samples are kept of a topic to which a reader comes late")
	flagKeep  = flag.Bool("chaos.keep", false, "keep the records of all rounds, not only of those that fail")
)

// TestMain lets the test binary be one of the processes under test.
func TestMain(m *testing.M) {
	if os.Getenv(envName) == "" {
		os.Exit(m.Run())
	}
	if err := runChild(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Getenv(envName), err)
		os.Exit(1)
	}
}
