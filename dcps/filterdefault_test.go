package dcps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/dcps/internal/evolved/newer"
	"github.com/omg-dds-go/dds/dcps/internal/evolved/older"
	"github.com/omg-dds-go/dds/xtypes"
)

// A member that the writer's version of the type lacks has its @default, in filters, queries and joins as in what Data gives.
func TestFilterSeesTheDefaultOfWhatIsNotSent(t *testing.T) {
	d := onBus(t)
	a, b := d.node(t), d.node(t)
	w := writerOf[older.Track](t, a, "Track", writerQos())
	all := readerOf[newer.Track](t, b, "Track", readerQos())
	passes := map[string]bool{"speed = 7": true, "speed <> 7": false, "speed = 0": false, "speed BETWEEN 1 AND 8": true, "speed <> NULL": true}
	filtered := make(map[string]*DataReader[newer.Track])
	joined := make(map[string]*DataReader[xtypes.Data])
	for expression := range passes {
		cf, err := NewContentFilteredTopic(all.Topic(), "filter "+expression, expression)
		require.NoError(t, err)
		filtered[expression], err = NewDataReader(b.sub, cf, WithReaderQos(readerQos()))
		require.NoError(t, err)
		m, err := NewDynamicMultiTopic(b.p, "join "+expression, "test::Joined", "SELECT id, speed FROM Track WHERE "+expression)
		require.NoError(t, err)
		joined[expression], err = NewDataReader(b.sub, m, WithReaderQos(readerQos()))
		require.NoError(t, err)
	}
	d.settle(t)
	require.NoError(t, w.Write(patiently(t), &older.Track{ID: 1, Altitude: 300, Text: "a"}))
	d.settle(t)
	for expression, want := range passes {
		q, err := all.NewQueryCondition(0, 0, 0, expression)
		require.NoError(t, err)
		require.Equal(t, want, q.TriggerValue(), expression)
		_, err = filtered[expression].Take()
		require.Equal(t, want, err == nil, "%s: %v", expression, err)
		rows, err := joined[expression].Take()
		require.Equal(t, want, err == nil, "%s: %v", expression, err)
		if want {
			row := rows.At(0)
			speed, err := row.Data().Get("speed")
			require.NoError(t, err)
			require.Equal(t, int32(7), speed)
		}
	}
	got, _ := next(t, all)
	require.Equal(t, newer.Track{ID: 1, Altitude: 300, Text: "a", Speed: 7}, got)
}
