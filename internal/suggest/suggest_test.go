package suggest

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestDidYouMean(t *testing.T) {
	names := []string{"altitude", "latitude", "Icao", "x"}
	for name, want := range map[string]string{
		"altitud": "did you mean altitude?",
		"ICAO":    "did you mean Icao?",
		"ciao":    "did you mean Icao?",
		"speed":   "",
	} {
		assert.Equal(t, want, DidYouMean(name, slices.Values(names)), name)
	}
	for _, c := range []string{"alphabet", "far too long to be compared"} {
		many := slices.Repeat([]string{c}, maxWork)
		assert.Equal(t, "did you mean altitude?", DidYouMean("altitud", slices.Values(append(many[:10:10], "altitude"))))
		assert.Empty(t, DidYouMean("altitud", slices.Values(append(many, "altitude"))), "too many")
	}
}

func TestNearest(t *testing.T) {
	names := []string{"depth", "kind", "delta", "dep"}
	for _, c := range []struct {
		name, want string
		limit      int
	}{
		{"DEPTH", "depth", 0}, {"depht", "depth", 1}, {"dpeht", "", 1}, {"dpeht", "depth", 2}, {"depto", "depth", 1},
		{"dept", "dep", 1}, {"kin", "kind", 1}, {"", "", 2}, {"kind", "kind", 0},
	} {
		got, ok := Nearest(c.name, slices.Values(names), c.limit)
		assert.Equal(t, c.want, got, c.name)
		assert.Equal(t, c.want != "", ok, c.name)
	}
	_, ok := Nearest(strings.Repeat("a", maxName+1), slices.Values([]string{strings.Repeat("a", maxName+1)}), 1)
	assert.False(t, ok)
}
