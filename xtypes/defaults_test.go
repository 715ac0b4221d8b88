package xtypes

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/cdr"
)

// Types may have arrays of billions of elements. What nobody has set takes no memory, and is an error where all of it
// is asked for.
func TestHugeDefaultsTakeNoMemory(t *testing.T) {
	row := structure("Row", cdr.Final, member("cells", array(octet, 1<<20)))
	for _, typ := range []*Type{
		structure("Flat", cdr.Final, member("huge", array(double, 1<<30)), member("n", long)),
		structure("Structs", cdr.Appendable, member("huge", array(structure("P", cdr.Final, member("x", octet)), 1<<30)), member("n", long)),
		structure("Nested", cdr.Mutable, member("huge", array(row, 1000)), member("n", long)), // each row comes into being on its own
		union("U", cdr.Final, long, kase("huge", array(octet, 1<<30), 0), kase("n", long, 1)),
	} {
		d, err := NewData(typ)
		require.NoError(t, err)
		same, err := NewData(typ)
		require.NoError(t, err)
		require.True(t, d.Equal(same))
		const what = "the defaults of members that are not set take more than 67108864 bytes; set them"
		_, err = d.Encode(typ.Encapsulation(true, false))
		require.ErrorIs(t, err, cdr.ErrBound)
		require.ErrorContains(t, err, "huge")
		require.ErrorContains(t, err, what)
		if typ.Name() != "Nested" {
			_, err = d.MarshalJSON()
			require.ErrorIs(t, err, cdr.ErrBound, "%s", typ)
			require.ErrorContains(t, err, what)
			require.Nil(t, d.Member(typ.MemberByName("huge")))
			_, err = d.Get("huge")
			require.ErrorIs(t, err, cdr.ErrBound)
			_, err = d.Get("huge[7]")
			require.ErrorIs(t, err, cdr.ErrBound)
		}
		require.NoError(t, d.Set("n", 5))
		require.EqualValues(t, 5, get(t, d, "n"))
		require.NoError(t, d.UnmarshalJSON([]byte(`{"n": 7}`)))
		require.EqualValues(t, 7, get(t, d, "n"))
	}
}
