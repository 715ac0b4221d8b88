package topic

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheckName(t *testing.T) {
	for _, good := range []string{"Track", "a b", "rt/Flugzeug-Höhe", "\ufffd", "飛行", strings.Repeat("x", MaxName)} {
		require.NoError(t, CheckName(good), "%q", good)
	}
	for _, c := range []struct{ name, want string }{
		{"", "empty"},
		{"Tra\x00ck", "byte 3 of"},
		{"Tra\x00ck", "is 0x00"},
		{"Track\n", "byte 5 of"},
		{"Track\n", "is 0x0a"},
		{"\tTrack", "byte 0 of"},
		{"Track\x7f", "is 0x7f"},
		{"Höhe\u0085", "byte 5 of"},
		{"Tr\xffck", "byte 2 of"},
		{"Tr\xffck", "0xff, which is not UTF-8"},
		{"Track\xc3", "byte 5 of"},
		{strings.Repeat("x", MaxName+1), "256 bytes, the limit is 255"},
		{strings.Repeat("ö", 128), "256 bytes"},
	} {
		require.ErrorContains(t, CheckName(c.name), c.want, "%q", c.name)
	}
}
