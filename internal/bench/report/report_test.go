package report

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/internal/bench"
	"github.com/omg-dds-go/dds/internal/bench/experiment"
)

// page is one that was measured in no time: run r of every experiment has the rate 1000*r, and latencies that grow with r.
func page(runs int) *Page {
	plan := DefaultPlan()
	p := &Page{Machine: ThisMachine(time.Unix(0, 0)), Plan: plan, Rounds: runs, Cells: plan.cells()}
	for _, c := range p.Cells {
		for r := 1; r <= runs; r++ {
			l := int64(r) * 1000
			s := experiment.Summary{Rate: 1000 * float64(r), Mbps: 8, Latency: bench.Latency{
				P50: l, P90: 2 * l, P99: 3 * l, P999: 4 * l, P9999: 5 * l, Max: 6 * l, Mean: float64(l), Samples: 10,
			}}
			if c.Experiment.Rate > 0 {
				due := s.Latency
				s.Due = &due
			}
			c.Outcomes = append(c.Outcomes, experiment.Outcome{Summary: s})
		}
	}
	return p
}

func TestFiguresAreMedians(t *testing.T) {
	text := string(page(3).markdown())
	assert.Contains(t, text, "| 10K | 4 | 2,000 (1,000–3,000) | 8 | 0 | 0 |")
	assert.Contains(t, text, "| tcp, 4 readers, 128, 1k/s | 2.00 (1.00–3.00) | 4.00 (2.00–6.00) |")
	assert.Contains(t, text, "| shm, 1 reader, 128, one after the other |")
	assert.Contains(t, text, "| logged |")
	assert.Equal(t, 6, strings.Count(text, ", since due |"), "for each experiment with a rate")
}

func TestEveryExperimentHasItsCommand(t *testing.T) {
	p := page(1)
	text := string(p.markdown())
	for _, c := range p.Cells {
		assert.Contains(t, text, "$ "+c.Experiment.Command()+"\n")
	}
}

func TestSpread(t *testing.T) {
	assert.Equal(t, Spread{}, spreadOf(nil))
	assert.Equal(t, Spread{7, 7, 7}, spreadOf([]float64{7}))
	assert.Equal(t, Spread{2, 1, 9}, spreadOf([]float64{9, 1, 2}))
	assert.Equal(t, Spread{2.5, 1, 9}, spreadOf([]float64{9, 1, 2, 3}))
	assert.Equal(t, "1,234,567 (12–1,234,568)", Spread{1234567, 12, 1234568}.count())
	assert.Equal(t, "999", Spread{999, 999, 999}.count())
}

func TestPlotsOfWhateverWasMeasured(t *testing.T) {
	nothing := page(0)
	zero := page(1)
	for _, c := range zero.Cells {
		c.Outcomes[0].Summary = experiment.Summary{} // a run in which no sample came
	}
	same := page(1)
	for _, c := range same.Cells {
		c.Outcomes[0].Summary = experiment.Summary{Rate: 1, Latency: bench.Latency{P50: 1000, P90: 1000, P99: 1000, P999: 1000, P9999: 1000, Max: 1000, Samples: 1}}
	}
	for name, p := range map[string]*Page{"nothing": nothing, "zero": zero, "one value": same, "some": page(2)} {
		files, err := p.plots()
		require.NoError(t, err, name)
		require.Len(t, files, 4, name)
		for file, svg := range files {
			assert.Contains(t, string(svg), "</svg>", "%s of %s", file, name)
		}
	}
}

func TestTicks(t *testing.T) {
	var labels []string
	for _, tick := range (plainTicks{}).Ticks(30, 25000) {
		labels = append(labels, tick.Label)
	}
	assert.Equal(t, []string{"50", "100", "200", "500", "1000", "2000", "5000", "10k", "20k"}, labels)
	assert.NotEmpty(t, plainTicks{}.Ticks(-1, 1))
}

func TestPlans(t *testing.T) {
	for _, p := range []Plan{DefaultPlan(), FullPlan()} {
		require.NoError(t, p.Check())
		var sections []Section
		for _, c := range p.cells() {
			sections = append(sections, c.Section)
		}
		slices.Sort(sections)
		assert.Len(t, slices.Compact(sections), 4)
	}
	p := FullPlan()
	assert.Contains(t, p.Sizes, 1<<20, "what travels in a ring of its own size, too")
	for name, spoil := range map[string]func(*Plan){
		"sizes": func(p *Plan) { p.Sizes = nil }, "runs": func(p *Plan) { p.Runs = 0 }, "size 1": func(p *Plan) { p.Sizes = []int{1} },
	} {
		p := DefaultPlan()
		spoil(&p)
		_, err := Measure(context.Background(), p, nil, nil)
		assert.ErrorContains(t, err, name)
	}
}

func TestMachine(t *testing.T) {
	m := ThisMachine(time.Unix(0, 0))
	assert.Positive(t, m.Cores)
	assert.Contains(t, m.Kernel, "Linux")
	assert.Contains(t, m.Go, "go1.")
	assert.Regexp(t, `^[0-9.]+ GiB$`, m.RAM)
	dir := t.TempDir()
	for i, files := range []map[string]string{
		{"size": "48K\n", "level": "1\n", "type": "Data\n", "shared_cpu_list": "0\n"},
		{"size": "32768K\n", "level": "3\n", "type": "Unified\n", "shared_cpu_list": "0-1\n"},
	} {
		index := filepath.Join(dir, fmt.Sprintf("index%d", i))
		require.NoError(t, os.Mkdir(index, 0o700))
		for name, content := range files {
			require.NoError(t, os.WriteFile(filepath.Join(index, name), []byte(content), 0o600))
		}
	}
	assert.Equal(t, "48K L1 data, 32768K L3 unified of processors 0-1", caches(dir))
	assert.Empty(t, caches(t.TempDir()), "where the kernel does not tell")
	for load, busy := range map[string]bool{"": false, "0.40 9 9": false, "0.60 0 0": true} {
		assert.Equal(t, busy, (&Machine{Cores: 2, Load: load}).Busy(), load)
	}
	assert.Equal(t, "madvise", chosen("always [madvise] never"))
	assert.Empty(t, chosen(""))
}
