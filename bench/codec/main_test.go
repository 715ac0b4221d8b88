package main

import (
	"bytes"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/codec/wire"
	"github.com/omg-dds-go/dds/cdr"
)

// TestAllAgree builds the peers that there are packages for, compares their samples with ours, and measures a little of
// everything.
func TestAllAgree(t *testing.T) {
	results, missing, err := measure(t.Context(), config{cases: []string{"Flat", "Text", "Blob", "Route", "Status"}, rounds: 1, each: time.Millisecond, build: t.TempDir()})
	require.NoError(t, err)
	for _, m := range missing {
		t.Log(m)
	}
	codecs := map[string]int{}
	for _, r := range results {
		codecs[r.Codec]++
		require.Positive(t, r.NS, "%s, %s, %s", r.Case, r.Codec, r.How)
	}
	require.Equal(t, 8*5, codecs[ours])
	for codec, n := range map[string]int{"protobuf": 2 * 5, "gob": 2 * 5, "encoding/binary": 2 * 3, "Fast-CDR": 2 * 4, "Cyclone DDS": 2 * 9} {
		if !strings.HasPrefix(strings.Join(missing, "\n")+"\n", codec) {
			require.Equal(t, n, codecs[codec], codec)
		}
	}
	for name, printer := range printers {
		var b bytes.Buffer
		require.NoError(t, printer(&b, results))
		require.GreaterOrEqual(t, strings.Count(b.String(), "\n"), len(results), name)
	}
}

// TestOursAllocatesNothing is about encoding, the builder, the writer, the view and reading through it.
func TestOursAllocatesNothing(t *testing.T) {
	for _, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			sample, err := s.sample(xcdr2)
			require.NoError(t, err)
			built := make([]byte, roomy)
			n, err := s.build(built)
			require.NoError(t, err)
			require.Equal(t, len(sample), n)
			if s.name != "Status" { // its members come in the order of their being set
				require.Equal(t, sample, built[:n])
			}
			written := make([]byte, roomy)
			n, err = s.write(written)
			require.NoError(t, err)
			require.Equal(t, sample, written[:n])
			require.NoError(t, cdr.Unmarshal(built[:n], s.fresh))
			again, err := cdr.Marshal(s.fresh, encapsulation(s.value.CDRType(), xcdr2))
			require.NoError(t, err)
			require.Equal(t, sample, again)

			buf := make([]byte, roomy)
			none := func(what string, op func() error) {
				var err error
				require.Zero(t, testing.AllocsPerRun(100, func() { err = op() }), what)
				require.NoError(t, err, what)
			}
			for _, version := range []int{xcdr1, xcdr2} {
				none("encode", func() error {
					_, err := cdr.MarshalTo(buf, s.value, encapsulation(s.value.CDRType(), version))
					return err
				})
			}
			none("in place", func() error {
				_, err := s.build(buf)
				return err
			})
			none("writer", func() error {
				_, err := s.write(buf)
				return err
			})
			none("view", func() error { return s.view(sample) })
			none("access", func() error {
				if !s.access() {
					return errWrong
				}
				return nil
			})
		})
	}
}

// TestAccessorsAreInlined: a member of fixed size costs no call, and neither does an element of a sequence of them.
func TestAccessorsAreInlined(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "./wire").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var names []string
	for _, view := range []any{wire.FlatView{}, wire.FixView{}, wire.FixViews{}} {
		v := reflect.TypeOf(view)
		for i := range v.NumMethod() {
			names = append(names, v.Name()+"."+v.Method(i).Name)
		}
	}
	require.Greater(t, len(names), 14+5)
	for _, name := range append(names, "textFront.Time", "blobFront.Time") {
		require.Contains(t, string(out), "can inline "+name+"\n")
	}
}

func TestADifferenceIsFound(t *testing.T) {
	mine := []byte{0, 7, 0, 2, 1, 2, 0, 0}
	require.NoError(t, sameBytes(mine, mine))
	require.NoError(t, sameBytes(mine, mine[:6]))
	require.ErrorContains(t, sameBytes(mine, []byte{0, 7, 0, 0, 1, 3}), "differ at byte 5")
	require.ErrorContains(t, sameBytes(mine, mine[:5]), "differ at byte 5")
	require.ErrorContains(t, sameBytes(mine, append(mine, 0, 0)), "10 bytes")
}
