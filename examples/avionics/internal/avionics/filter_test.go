package avionics

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/dcps"
	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

// Filters and queries look up members in the description that idlgen has put into the type.
func TestFiltersOverGeneratedTypes(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := dcps.NewDomainParticipant(ctx, dcps.DomainID(os.Getpid())<<10|1<<31|2)
	require.NoError(t, err)
	defer p.Close()
	positions, err := dcps.NewTopic[Position](p, "Position")
	require.NoError(t, err)
	good, err := dcps.NewContentFilteredTopic(positions, "Fixes", "quality <> NO_FIX AND latitude BETWEEN 40 AND 50 AND aircraft LIKE 'N%'")
	require.NoError(t, err)
	pub, err := p.NewPublisher()
	require.NoError(t, err)
	w, err := dcps.NewDataWriter(pub, positions)
	require.NoError(t, err)
	sub, err := p.NewSubscriber()
	require.NoError(t, err)
	q := qos.DefaultDataReader()
	q.Reliability.Kind = qos.ReliabilityReliable
	q.History.Kind = qos.HistoryKeepAll
	r, err := dcps.NewDataReader(sub, good, dcps.WithReaderQos(q))
	require.NoError(t, err)
	require.NoError(t, w.WaitForMatch(ctx, 1))
	for _, x := range []Position{
		{Aircraft: "N1", Quality: FixQualityFix3d, Latitude: 45, GroundSpeedKt: 200},
		{Aircraft: "N1", Quality: FixQualityNoFix, Latitude: 45},
		{Aircraft: "D1", Quality: FixQualityFix3d, Latitude: 45},
		{Aircraft: "N2", Quality: FixQualityFix2d, Latitude: 39},
		{Aircraft: "N3", Quality: FixQualityFix2d, Latitude: 50, GroundSpeedKt: 100},
	} {
		require.NoError(t, w.Write(ctx, &x))
	}
	require.NoError(t, w.WaitForAcknowledgments(ctx))
	slowest, err := r.NewQueryCondition(0, 0, 0, "ORDER BY ground_speed_kt")
	require.NoError(t, err)
	samples, err := r.Take(dcps.When(slowest))
	require.NoError(t, err)
	defer samples.Close()
	var got []AircraftId
	for _, s := range samples.All() {
		got = append(got, s.Data().Aircraft)
	}
	require.Equal(t, []AircraftId{"N3", "N1"}, got)
	require.Equal(t, uint64(3), r.Filtered())

	_, err = dcps.NewContentFilteredTopic(positions, "Wrong", "quality = FIX4D")
	require.ErrorContains(t, err, "did you mean")
}
