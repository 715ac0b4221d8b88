package qos

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The built-in profiles are of the standard's own dialect and without anything that would be warned of.
func TestBuiltin(t *testing.T) {
	l, err := load(input{name: "builtin.xml", r: strings.NewReader(builtinXML), options: Options{Strict: true}}, nil, nil)
	require.NoError(t, err)
	assert.Equal(t, dialectStandard, l.dialect)
	assert.Greater(t, len(BuiltinProfiles()), 80)
	var p Provider
	for _, name := range BuiltinProfiles() {
		w, err := p.DataWriter(name, "T")
		require.NoError(t, err, name)
		r, err := p.DataReader(name, "T")
		require.NoError(t, err, name)
		topic, err := p.Topic(name, "T")
		require.NoError(t, err, name)
		assert.NoError(t, w.Validate(), name)
		assert.NoError(t, r.Validate(), name)
		assert.NoError(t, topic.Validate(), name)
		if !strings.HasPrefix(name, "ROS2::system_default") {
			assert.Empty(t, Compatible(w, r, DefaultPublisher(), DefaultSubscriber()), "the two sides of %s match", name)
		}
	}
}

// What people look up by these names.
func TestBuiltinValues(t *testing.T) {
	var p Provider
	for name, want := range map[string]struct {
		reliability ReliabilityKind
		durability  DurabilityKind
		history     History
	}{
		"BuiltinQosLib::Generic.StrictReliable":                  {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepAll, 1}},
		"BuiltinQosLib::Generic.KeepLastReliable":                {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepLast, 1}},
		"BuiltinQosLib::Generic.KeepLastReliable.TransientLocal": {ReliabilityReliable, DurabilityTransientLocal, History{HistoryKeepLast, 1}},
		"BuiltinQosLib::Generic.BestEffort":                      {ReliabilityBestEffort, DurabilityVolatile, History{HistoryKeepLast, 1}},
		"BuiltinQosLib::Pattern.Streaming":                       {ReliabilityBestEffort, DurabilityVolatile, History{HistoryKeepLast, 1}},
		"BuiltinQosLib::Pattern.Event":                           {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepAll, 1}},
		"BuiltinQosLib::Pattern.Status":                          {ReliabilityReliable, DurabilityTransientLocal, History{HistoryKeepLast, 1}},
		"BuiltinQosLib::Pattern.LastValueCache":                  {ReliabilityReliable, DurabilityTransientLocal, History{HistoryKeepLast, 1}},
		"BuiltinQosLibExp::Generic.StrictReliable":               {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepAll, 1}},
		"ROS2::default":             {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepLast, 10}},
		"ROS2::sensor_data":         {ReliabilityBestEffort, DurabilityVolatile, History{HistoryKeepLast, 5}},
		"ROS2::services_default":    {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepLast, 10}},
		"ROS2::parameters":          {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepLast, 1000}},
		"Delivery::Unordered":       {ReliabilityBestEffort, DurabilityVolatile, History{HistoryKeepLast, 1}},
		"Delivery::Atomic":          {ReliabilityReliable, DurabilityVolatile, History{HistoryKeepAll, 1}},
		"Delivery::VolatileStorage": {ReliabilityReliable, DurabilityTransientLocal, History{HistoryKeepAll, 1}},
		"Delivery::Logged":          {ReliabilityReliable, DurabilityPersistent, History{HistoryKeepAll, 1}},
	} {
		r, err := p.DataReader(name, "T")
		require.NoError(t, err, name)
		assert.Equal(t, want.reliability, r.Reliability.Kind, name)
		assert.Equal(t, want.durability, r.Durability.Kind, name)
		assert.Equal(t, want.history, r.History, name)
	}
	w, err := p.DataWriter("BuiltinQosLib::Pattern.PeriodicData", "")
	require.NoError(t, err)
	assert.Equal(t, 4*time.Second, w.Deadline.Period)
	system, err := p.DataWriter("ROS2::system_default", "")
	require.NoError(t, err)
	assert.Equal(t, DefaultDataWriter(), system)
}

func TestFileTakesThePlaceOfBuiltin(t *testing.T) {
	p := mustLoad(t, `<dds><qos_library name="BuiltinQosLib"><qos_profile name="Generic.BestEffort">
		<datareader_qos><history><depth>7</depth></history></datareader_qos></qos_profile></qos_library></dds>`)
	r, err := p.DataReader("BuiltinQosLib::Generic.BestEffort", "")
	require.NoError(t, err)
	assert.Equal(t, int32(7), r.History.Depth)
}
