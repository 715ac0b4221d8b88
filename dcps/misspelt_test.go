package dcps

import (
	"slices"
	"testing"

	"github.com/omg-dds-go/dds/qos"
	"github.com/stretchr/testify/require"
)

func TestMisspeltVariables(t *testing.T) {
	for _, c := range []struct {
		environment []string
		told        string // "": nothing is
	}{
		{[]string{"DDS_PEER=h:1"}, "DDS_PEER (did you mean DDS_PEERS?);"},
		{[]string{"DDS_WITNES=a", "DDS_TRANSPRT=tcp"}, ": DDS_TRANSPRT (did you mean DDS_TRANSPORT?), DDS_WITNES (did you mean DDS_WITNESS?);"},
		{[]string{"DDS_QOS_PROFILE=a.xml"}, "DDS_QOS_PROFILE (did you mean DDS_QOS_PROFILES?);"},
		{[]string{"DDS_PEERS=h:1", "DDS_LEASE=1s", "PATH=/bin"}, ""},
		{[]string{"DDS_ROOT=/opt/opendds", "DDS_SECURITY=1", "NDDS_QOS_PROFILES=a.xml"}, ""}, // of others
		{[]string{"DDS_PEER=h:1", "DDS_PEERS=h:1"}, ""},
	} {
		err := misspelt(c.environment)
		if c.told == "" {
			require.NoError(t, err, c.environment)
			continue
		}
		require.ErrorContains(t, err, c.told)
	}

	t.Setenv("DDS_LISTN", ":7400")
	p := onBus(t).node(t).p
	require.ErrorIs(t, p.Err(), ErrBadParameter)
	require.EqualError(t, p.Err(), "dcps: NewDomainParticipant (environment): bad parameter: this variable has no effect here: DDS_LISTN (did you mean DDS_LISTEN?); "+
		"set the one that is meant, or unset it unless it is for another program")
}

// All that are looked at are known.
func TestVariables(t *testing.T) {
	read := map[string]bool{qos.ProfilesVariable: true}
	_, err := Settings{}.withDefaults(func(name string) string {
		read[name] = true
		return ""
	})
	require.NoError(t, err)
	for name := range read {
		require.Contains(t, variables, name)
	}
	require.Len(t, variables, len(read))
	require.False(t, slices.ContainsFunc(variables, func(name string) bool { return misspelt([]string{name + "=1"}) != nil }))
}
