package idlc

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/omg-dds-go/dds/cdr"
	tt "github.com/omg-dds-go/dds/idlc/internal/testtypes"
	ct "github.com/omg-dds-go/dds/idlc/internal/testtypes/constructs"
	"github.com/stretchr/testify/require"
)

// viewed sums up what it reads through the view of a sample.
type viewed func(sample []byte) (sum float64, err error)

// TestViewsDoNotAllocate: views of flat, nested, appended and mutable types and of elements, in all encodings, made of
// each sample and read.
func TestViewsDoNotAllocate(t *testing.T) {
	lists := tt.NewCollections()
	lists.Points, lists.Ragged = []tt.Point{{X: 1}, {Y: 2, Quality: 3}, {X: 4}}, []tt.Ragged{{A: 5, B: 6}, {B: 7}}
	for name, c := range map[string]struct {
		m    cdr.Message
		want float64
		view viewed
	}{
		"flat": {&tt.Point{X: 1.5, Y: -4, Quality: 3}, 0.5, func(sample []byte) (float64, error) {
			v, err := tt.NewPointView(sample)
			return v.X() + v.Y() + float64(v.Quality()), err
		}},
		"all numbers": {&tt.Primitives{B: true, O: 1, I8: -2, I16: -3, U16: 4, I32: -5, U32: 6, I64: -7, U64: 8, F32: 0.5, F64: 0.25}, 2.75, func(sample []byte) (float64, error) {
			v, err := tt.NewPrimitivesView(sample)
			sum := float64(v.O()) + float64(v.I8()) + float64(v.I16()) + float64(v.U16()) + float64(v.I32()) + float64(v.U32()) + float64(v.I64()) + float64(v.U64())
			return sum + float64(v.F32()) + v.F64(), err
		}},
		"nested": {&tt.Version2{ID: 3, Color: tt.ColorBlue, Text: "ab", At: tt.Point{X: 2, Y: 3, Quality: 4}, Last: [2]float64{5, 6}, More: []int32{7}}, 32, func(sample []byte) (float64, error) {
			v, err := tt.NewVersion2View(sample)
			at := v.At()
			return float64(v.ID()) + at.X() + at.Y() + float64(at.Quality()) + v.Last().At(0) + v.Last().At(1) + float64(len(v.Text())) + float64(v.More().At(0)), err
		}},
		"appended": {&ct.Older{ID: 3}, 3 + 7 + 5, func(sample []byte) (float64, error) {
			v, err := ct.NewNewerView(sample)
			return float64(v.ID()) + float64(v.Height()) + float64(v.All().Five()), err
		}},
		"mutable": {&ct.OlderLoose{ID: 3}, 3 + 7 + 5, func(sample []byte) (float64, error) {
			v, err := ct.NewNewerLooseView(sample)
			return float64(v.ID()) + float64(v.Height()) + float64(v.All().Five()), err
		}},
		"elements": {lists, 28 + 3 + 2, func(sample []byte) (float64, error) {
			v, err := tt.NewCollectionsView(sample)
			sum := float64(v.Points().Len()) + float64(v.Ragged().Len())
			for _, p := range v.Points().All() {
				sum += p.X() + p.Y() + float64(p.Quality())
			}
			for i := range 3 {
				r := v.Ragged().At(i) // the last one is not there
				sum += float64(r.A()) + r.B()
			}
			return sum + v.Points().At(-1).X(), err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, enc := range encapsulations(c.m.CDRType()) {
				sample, err := cdr.Marshal(c.m, enc)
				require.NoError(t, err)
				var sum float64
				require.Zero(t, testing.AllocsPerRun(100, func() { sum, err = c.view(sample) }), enc)
				require.NoError(t, err)
				require.Equal(t, c.want, sum, enc)
			}
		})
	}
}

// TestNumbersOfFrontsAreInlined: the compiler inlines what reads a number, and with it an element, of a front.
func TestNumbersOfFrontsAreInlined(t *testing.T) {
	for _, dir := range []string{"testtypes", "testtypes/constructs"} {
		files, err := filepath.Glob(filepath.Join("internal", dir, "*_idl.go"))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		told, err := exec.Command("go", "build", "-gcflags=-m", "./internal/"+dir).CombinedOutput()
		require.NoError(t, err, "%s", told)
		n := 0
		for _, file := range files {
			code, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func \(vs? (\w+)\) (\w+)\(.*\n\tif .*\n\t\treturn .*vs?\.far(?:Uint64|Float32|Float64|)\(`).FindAllSubmatch(code, -1) {
				require.Contains(t, string(told), "can inline "+string(m[1])+"."+string(m[2])+"\n", file)
				n++
			}
		}
		require.Greater(t, n, 20, dir)
	}
}
