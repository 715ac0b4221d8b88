package dcps

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func putProfile(t *testing.T, file, writer string) {
	t.Helper()
	text := `<dds><qos_library name="L"><qos_profile name="P"><datawriter_qos>` + writer + `</datawriter_qos></qos_profile></qos_library></dds>`
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// A writer follows its file: what may change does, and its reader sees it; the rest is told.
func TestFollowQos(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	putProfile(t, file, `<deadline><period><sec>2</sec></period></deadline>`)
	p, err := qos.LoadFile(file)
	require.NoError(t, err)
	profile := func() (qos.DataWriter, error) { return p.DataWriter("L::P", "") }

	d := onBus(t)
	a, b := d.node(t), d.node(t)
	start, err := profile()
	require.NoError(t, err)
	w := a.writer(t, writerQos(func(q *qos.DataWriter) { *q = start }))
	r := b.reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	d.bus.settle(t)
	require.Zero(t, r.SubscriptionMatchedStatus().CurrentCount)

	var updates []QosUpdate
	stop, err := FollowQos(p, w, profile, func(u QosUpdate) { updates = append(updates, u) })
	require.NoError(t, err)

	putProfile(t, file, `<deadline><period><sec>1</sec></period></deadline><history><depth>3</depth></history>`)
	require.NoError(t, p.Reload().Err)
	d.bus.settle(t)
	require.Len(t, updates, 1)
	require.NoError(t, updates[0].Err)
	require.Equal(t, []qos.Change{{Policy: qos.PolicyDeadline, From: "2s", To: "1s"}}, updates[0].Applied)
	require.Equal(t, []qos.Change{{Policy: qos.PolicyHistory, From: "KEEP_LAST 1", To: "KEEP_LAST 3"}}, updates[0].Waiting)
	require.Equal(t, time.Second, w.Qos().Deadline.Period)
	require.Equal(t, int32(1), w.Qos().History.Depth)
	require.Equal(t, int32(1), r.SubscriptionMatchedStatus().CurrentCount, "and it is matched anew")

	require.NoError(t, p.Load("other", strings.NewReader(`<dds><qos_library name="M"><qos_profile name="P"/></qos_library></dds>`)))
	require.NoError(t, p.Reload().Err)
	require.Len(t, updates, 1, "nothing of this profile has changed")

	require.NoError(t, os.WriteFile(file, []byte(`<dds><qos_library name="L"/></dds>`), 0o600))
	require.NoError(t, p.Reload().Err)
	require.Len(t, updates, 2)
	require.ErrorIs(t, updates[1].Err, qos.ErrUnknownProfile)
	require.Equal(t, time.Second, w.Qos().Deadline.Period, "as it was")

	stop()
	putProfile(t, file, `<deadline><period><sec>3</sec></period></deadline>`)
	require.NoError(t, p.Reload().Err)
	require.Len(t, updates, 2)
	require.Equal(t, time.Second, w.Qos().Deadline.Period)

	_, err = FollowQos(p, w, func() (qos.DataWriter, error) { return p.DataWriter("L::None", "") }, nil)
	require.ErrorIs(t, err, qos.ErrUnknownProfile)
}

// What the entity refuses is told, and changes nothing.
func TestFollowQosRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	put := func(reader string) {
		text := `<dds><qos_library name="L"><qos_profile name="P"><datareader_qos>` + reader + `</datareader_qos></qos_profile></qos_library></dds>`
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	put(``)
	p, err := qos.LoadFile(file)
	require.NoError(t, err)
	d := onBus(t)
	r := d.node(t).reader(t, readerQos(func(q *qos.DataReader) { q.Deadline.Period = time.Second }))
	var updates []QosUpdate
	_, err = FollowQos(p, r, func() (qos.DataReader, error) { return p.DataReader("L::P", "") }, func(u QosUpdate) { updates = append(updates, u) })
	require.NoError(t, err)
	closed := r.Close()
	require.NoError(t, closed)
	put(`<time_based_filter><minimum_separation><sec>2</sec></minimum_separation></time_based_filter>`)
	require.NoError(t, p.Reload().Err)
	require.Len(t, updates, 1)
	require.Error(t, updates[0].Err, "a closed entity takes nothing over")
	require.Empty(t, updates[0].Applied)
}

// What the program itself has set stays, as long as the profile stays the same there.
func TestFollowQosKeepsWhatIsSet(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	putProfile(t, file, ``)
	p, err := qos.LoadFile(file)
	require.NoError(t, err)
	profile := func() (qos.DataWriter, error) { return p.DataWriter("L::P", "") }
	w := onBus(t).node(t).writer(t, writerQos())
	stop, err := FollowQos(p, w, profile, nil)
	require.NoError(t, err)
	defer stop()
	require.NoError(t, w.SetQos(writerQos(func(q *qos.DataWriter) { q.Deadline.Period = time.Second })))
	putProfile(t, file, `<ownership_strength><value>7</value></ownership_strength>`)
	require.NoError(t, p.Reload().Err)
	require.Equal(t, int32(7), w.Qos().OwnershipStrength.Value)
	require.Equal(t, time.Second, w.Qos().Deadline.Period)
}

func TestFollowQosNil(t *testing.T) {
	w := new(DataWriter[track])
	profile := func() (qos.DataWriter, error) { return qos.DefaultDataWriter(), nil }
	for says, follow := range map[string]func() (func(), error){
		"Provider": func() (func(), error) { return FollowQos(nil, w, profile, nil) },
		"entity":   func() (func(), error) { return FollowQos(new(qos.Provider), nil, profile, nil) },
		"function": func() (func(), error) { return FollowQos[qos.DataWriter](new(qos.Provider), w, nil, nil) },
	} {
		stop, err := follow()
		require.ErrorIs(t, err, ErrBadParameter)
		require.ErrorContains(t, err, says)
		stop()
	}
}
