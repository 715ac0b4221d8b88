package dcps

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/derecho"
)

// A set that has lost its end, its beginning, or what its end says, is no part of a history; the next one is.
func TestHistoryWithoutLostSets(t *testing.T) {
	const begin, in = flagInSet | flagSetBegin, flagInSet
	type sent struct {
		kind  derecho.Kind
		flags uint8
	}
	whole := (&setEnd{parts: []part{{1, 1, 2}}}).encode()
	lost := (&setEnd{parts: []part{{1, 1, 0}}}).encode()
	for name, c := range map[string]struct {
		sent []sent // each of its own instance
		end  []byte
		kept string
	}{
		"a whole one":                   {[]sent{{kindData, begin}, {kindData, in}, {kindSetEnd, 0}}, whole, "1 2"},
		"one that goes on":              {[]sent{{kindData, 0}, {kindData, begin}}, whole, "1"},
		"its end is lost, another's":    {[]sent{{kindData, begin}, {kindData, begin}, {kindData, in}, {kindSetEnd, 0}}, whole, "2 3"},
		"its end is lost, a sample":     {[]sent{{kindData, begin}, {kindData, 0}, {kindSetEnd, 0}}, whole, "2"},
		"its beginning is lost":         {[]sent{{kindData, in}, {kindData, in}, {kindSetEnd, 0}}, whole, ""},
		"and another comes":             {[]sent{{kindData, in}, {kindSetEnd, 0}, {kindData, begin}, {kindSetEnd, 0}}, whole, "3"},
		"and its end, too":              {[]sent{{kindData, in}, {kindData, begin}, {kindSetEnd, 0}}, whole, "2"},
		"its end says that it is lost":  {[]sent{{kindData, 0}, {kindData, begin}, {kindSetEnd, 0}}, lost, "1"},
		"a mark is in it":               {[]sent{{kindData, begin}, {kindNothing, in | flagMark}, {kindData, in}, {kindSetEnd, 0}}, whole, "1 3"},
		"a registration begins it":      {[]sent{{kindData, begin}, {kindRegister, begin}, {kindData, in}, {kindSetEnd, 0}}, whole, "3"},
		"its writer asserts that it is": {[]sent{{kindData, begin}, {kindAlive, 0}, {kindData, in}, {kindSetEnd, 0}}, whole, "1 3"},
	} {
		t.Run(name, func(t *testing.T) {
			w := aWriter(1, keepAll)
			s, loaded, m := newStore(), (*store)(nil), sending{}
			for i, x := range c.sent {
				msg := m.message(x.kind, x.flags, 0)
				if x.kind == kindSetEnd {
					msg.Payload = c.end
				}
				for _, s := range []*store{s, loaded} {
					if s != nil {
						s.add(w, msg, instanceHandle(int32(i)))
					}
				}
				if i == 0 { // and so does who is given the history in the midst of it
					var err error
					loaded, err = loadStore(s.save())
					require.NoError(t, err)
				}
			}
			for _, s := range []*store{s, loaded} {
				var kept []string
				for _, r := range s.history() {
					kept = append(kept, fmt.Sprint(r.message.WriterSeq))
				}
				require.Equal(t, c.kept, strings.Join(kept, " "))
			}
			require.Equal(t, s.save(), loaded.save())
		})
	}
}
