package main

import (
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/bench/internal/result"
)

func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "order")
	if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

func TestAllReplicasCountTheSameMessages(t *testing.T) {
	program := built(t)
	t.Setenv("DDS_LEASE", "20s") // a machine that runs many tests may not run a process for longer than the usual lease
	for _, impl := range []string{"dds-go", "etcd", "etcd-in-process", "raft", "nats"} {
		t.Run(impl, func(t *testing.T) {
			var out []byte
			var counts []int64
			var alone []result.Result
			for duration := 300 * time.Millisecond; duration < time.Minute; duration *= 4 { // a busy machine needs more time
				var err error
				if out, err = exec.Command(program, "-impl", impl, "-duration", duration.String(), "-warmup", "100ms").Output(); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				results, err := result.Parse(out)
				if err != nil {
					t.Fatal(err)
				}
				counts, alone = nil, nil
				for _, r := range results {
					switch r.Role {
					case "replica":
						counts = append(counts, r.Count)
					case "one-at-a-time":
						alone = append(alone, r)
					default:
						t.Errorf("a result with role %q", r.Role)
					}
				}
				if len(counts) != replicas || len(alone) != 1 {
					t.Fatalf("%d replicas and %d latencies, not %d and 1:\n%s", len(counts), len(alone), replicas, out)
				}
				if counts[0] > 0 && alone[0].Count > 0 {
					break
				}
			}
			if alone[0].P50 <= 0 || alone[0].Count == 0 {
				t.Errorf("latency of %d messages is %d ns", alone[0].Count, alone[0].P50)
			}
			if counts[0] == 0 || counts[1] != counts[0] || counts[2] != counts[0] {
				t.Errorf("the replicas counted %v messages", counts)
			}
		})
	}
}

func TestTheBareStreamIsMeasured(t *testing.T) {
	out, err := exec.Command(built(t), "-impl", bareStream, "-duration", "100ms", "-warmup", "10ms").Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	results, err := result.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 1 || results[0].Rate <= 0 || results[0].Size != 1024 {
		t.Errorf("%+v", results)
	}
}
