package suggest

import (
	"slices"
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
	assert.Empty(t, DidYouMean("altitude", slices.Values(make([]string, 1<<18))), "too many")
}
