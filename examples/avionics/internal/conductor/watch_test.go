package conductor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestWatchNamesWhoStandsStill(t *testing.T) {
	began := time.Unix(0, 0)
	at := func(beats int) time.Time { return began.Add(time.Duration(beats) * stillLimit / 4) }
	pid := func(string) int { return 1 << 30 } // no process has it
	roles := []string{"fms", "display1", "display2"}
	w := watch{}
	reached := func(position uint64) map[string]uint64 { return map[string]uint64{"Position": position} }
	for _, role := range roles {
		w.started(role, began)
	}
	for beat := range 4 { // display2 says that it lives and takes nothing
		w.alive("fms", reached(uint64(10+beat)), at(beat))
		w.alive("display1", reached(uint64(10+beat)), at(beat))
		w.alive("display2", reached(3), at(beat))
	}
	assert.Empty(t, w.standstill(roles, at(3), pid), "too early to tell")
	assert.Equal(t, []string{"display2 (process 1073741824) has taken nothing for 4s and is 10 samples of Position behind display1"},
		w.standstill(roles, at(4), pid))
	assert.Empty(t, w.standstill([]string{"fms", "display1"}, at(4), pid), "who has left or failed is not asked for")

	for beat := 4; beat < 8; beat++ { // and now display1 is silent: nobody gets further
		w.alive("fms", reached(13), at(beat))
		w.alive("display2", reached(3), at(beat))
	}
	assert.Equal(t, []string{"display1 (process 1073741824) has given no sign of life for 4s"}, w.standstill(roles, at(7), pid))
	assert.Equal(t, []string{"display1"}, w.missing(roles, at(7)))
	assert.Empty(t, w.missing(roles, at(8)), "it is told once")
	assert.True(t, w.alive("display1", reached(13), at(8)))
	assert.False(t, w.alive("display1", reached(13), at(9)))
	assert.Equal(t, []string{"display1"}, w.missing(roles[1:2], at(13)))

	c := &conductor{watch: w, crew: newCrew("", nil), looked: at(13)}
	c.lookAround(at(99)) // it was suspended itself, by Ctrl-Z: what was said meanwhile is still to be read
	assert.Empty(t, w.missing(roles, at(100)))
	assert.Empty(t, w.standstill(roles, at(100), pid))
}

// A process that takes other topics than the one that goes on is not behind.
func TestWatchComparesWhatBothTake(t *testing.T) {
	began := time.Unix(0, 0)
	w := watch{}
	w.started("fms", began)
	w.started("nav", began)
	now := began.Add(stillLimit)
	w.alive("fms", map[string]uint64{"Position": 7}, now)
	w.alive("nav", nil, now)
	assert.Empty(t, w.standstill([]string{"fms", "nav"}, now, func(string) int { return 1 << 30 }))
}
