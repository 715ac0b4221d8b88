package qos

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDefaultsAreConsistent(t *testing.T) {
	assert.NoError(t, DefaultDomainParticipant().Validate())
	assert.NoError(t, DefaultTopic().Validate())
	assert.NoError(t, DefaultPublisher().Validate())
	assert.NoError(t, DefaultSubscriber().Validate())
	assert.NoError(t, DefaultDataWriter().Validate())
	assert.NoError(t, DefaultDataReader().Validate())
}

func TestDefaultsMatchEachOther(t *testing.T) {
	assert.Empty(t, Compatible(DefaultDataWriter(), DefaultDataReader(), DefaultPublisher(), DefaultSubscriber()))
}

func TestValidateDataReader(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(q *DataReader)
		details  []string // none: consistent
		policies [][]PolicyID
	}{
		"depth within limit": {change: func(q *DataReader) {
			q.History.Depth, q.ResourceLimits.MaxSamplesPerInstance = 4, 4
		}},
		"depth above per instance": {
			func(q *DataReader) { q.History.Depth, q.ResourceLimits.MaxSamplesPerInstance = 8, 4 },
			[]string{"HISTORY depth 8 above RESOURCE_LIMITS max_samples_per_instance 4"},
			[][]PolicyID{{PolicyHistory, PolicyResourceLimits}},
		},
		"depth above max_samples that bounds the instance": {
			func(q *DataReader) { q.History.Depth, q.ResourceLimits.MaxSamples = 8, 4 },
			[]string{"HISTORY depth 8 above RESOURCE_LIMITS max_samples 4"},
			[][]PolicyID{{PolicyHistory, PolicyResourceLimits}},
		},
		"depth does not count for KEEP_ALL": {change: func(q *DataReader) {
			q.History = History{HistoryKeepAll, 0}
			q.ResourceLimits.MaxSamplesPerInstance = 4
		}},
		"depth zero": {
			func(q *DataReader) { q.History.Depth = 0 },
			[]string{"HISTORY depth 0 below 1"}, [][]PolicyID{{PolicyHistory}},
		},
		"limits zero and negative": {
			func(q *DataReader) { q.ResourceLimits = ResourceLimits{0, -2, LengthUnlimited} },
			[]string{
				"RESOURCE_LIMITS max_samples 0 is neither LENGTH_UNLIMITED nor at least 1",
				"RESOURCE_LIMITS max_instances -2 is neither LENGTH_UNLIMITED nor at least 1",
			},
			[][]PolicyID{{PolicyResourceLimits}, {PolicyResourceLimits}},
		},
		"samples below samples per instance": {
			func(q *DataReader) { q.ResourceLimits = ResourceLimits{3, LengthUnlimited, 5} },
			[]string{"RESOURCE_LIMITS max_samples 3 below max_samples_per_instance 5"},
			[][]PolicyID{{PolicyResourceLimits}},
		},
		"deadline equal to separation": {change: func(q *DataReader) {
			q.Deadline.Period, q.TimeBasedFilter.MinimumSeparation = time.Second, time.Second
		}},
		"deadline below separation": {
			func(q *DataReader) {
				q.Deadline.Period, q.TimeBasedFilter.MinimumSeparation = time.Second, 2*time.Second
			},
			[]string{"DEADLINE period 1s below TIME_BASED_FILTER minimum_separation 2s"},
			[][]PolicyID{{PolicyDeadline, PolicyTimeBasedFilter}},
		},
		"kind not set": {
			func(q *DataReader) { q.Reliability = Reliability{} },
			[]string{"RELIABILITY kind NOT_SET, not one of BEST_EFFORT, RELIABLE"},
			[][]PolicyID{{PolicyReliability}},
		},
		"kind out of range": {
			func(q *DataReader) { q.Ownership.Kind = 9 },
			[]string{"OWNERSHIP kind INVALID_9, not one of SHARED, EXCLUSIVE"},
			[][]PolicyID{{PolicyOwnership}},
		},
		"negative durations": {
			func(q *DataReader) {
				q.Liveliness.LeaseDuration = -time.Second
				q.ReaderDataLifecycle.AutopurgeDisposedSamplesDelay = -1
			},
			[]string{
				"LIVELINESS lease_duration -1s is negative",
				"READER_DATA_LIFECYCLE autopurge_disposed_samples_delay -1ns is negative",
			},
			[][]PolicyID{{PolicyLiveliness}, {PolicyReaderDataLifecycle}},
		},
		"durations of which nothing could come": {
			func(q *DataReader) { q.Deadline.Period, q.Liveliness.LeaseDuration = 0, 0 },
			[]string{
				"DEADLINE period 0s is not above 0: write more, or INFINITE for none",
				"LIVELINESS lease_duration 0s is not above 0: write more, or INFINITE for none",
			},
			[][]PolicyID{{PolicyDeadline}, {PolicyLiveliness}},
		},
		"the shortest durations": {change: func(q *DataReader) {
			q.Deadline.Period, q.Liveliness.LeaseDuration = 1, 1
			q.LatencyBudget.Duration, q.TimeBasedFilter.MinimumSeparation = 0, 0
			q.ReaderDataLifecycle = ReaderDataLifecycle{}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			q := DefaultDataReader()
			c.change(&q)
			err := q.Validate()
			if c.details == nil {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, ErrInconsistentPolicy)
			var e *InconsistentPolicyError
			require.True(t, errors.As(err, &e))
			assert.Equal(t, "DataReader", e.Entity)
			var details []string
			var policies [][]PolicyID
			for _, p := range e.Problems {
				details = append(details, p.Detail)
				policies = append(policies, p.Policies)
			}
			assert.Equal(t, c.details, details)
			assert.Equal(t, c.policies, policies)
		})
	}
}

func TestValidateDurabilityService(t *testing.T) {
	q := DefaultTopic()
	q.DurabilityService.HistoryDepth = 8
	q.DurabilityService.MaxSamplesPerInstance = 4
	q.DurabilityService.ServiceCleanupDelay = -time.Second
	assert.EqualError(t, q.Validate(), "qos: inconsistent Topic policies: "+
		"DURABILITY_SERVICE service_cleanup_delay -1s is negative; "+
		"DURABILITY_SERVICE history_depth 8 above max_samples_per_instance 4")
}

func TestValidateLifespan(t *testing.T) {
	q := DefaultDataWriter()
	q.Lifespan.Duration = 0
	assert.EqualError(t, q.Validate(), "qos: inconsistent DataWriter policies: "+
		"LIFESPAN duration 0s is not above 0: write more, or INFINITE for none")
	q.Lifespan.Duration = 1
	assert.NoError(t, q.Validate())
}

func TestZeroValueIsReportedNotDefaulted(t *testing.T) {
	assert.Error(t, DataWriter{}.Validate())
	assert.Error(t, DataReader{}.Validate())
	assert.Error(t, Topic{}.Validate())
	assert.Error(t, Publisher{}.Validate())
}

func TestString(t *testing.T) {
	assert.Equal(t, "USER_DATA empty; ENTITY_FACTORY autoenable_created_entities true", DefaultDomainParticipant().String())
	q := DefaultPublisher()
	q.Partition.Name = []string{"A", "B*"}
	q.GroupData.Value = []byte{1, 0xff}
	assert.Equal(t, `PRESENTATION INSTANCE coherent_access false ordered_access false; PARTITION ["A" "B*"]; `+
		`ENTITY_FACTORY autoenable_created_entities true; GROUP_DATA 0x01ff`, q.String())
	assert.Contains(t, DefaultDataWriter().String(), "RELIABILITY RELIABLE max_blocking_time 100ms")
	assert.Contains(t, DefaultDataReader().String(), "RESOURCE_LIMITS max_samples UNLIMITED max_instances UNLIMITED")
}

func TestImmutableChanges(t *testing.T) {
	q := DefaultDataWriter()
	next := q
	next.Deadline.Period = time.Second // changeable
	next.UserData.Value = []byte("x")  // changeable
	assert.Empty(t, q.ImmutableChanges(next))

	next.Reliability.MaxBlockingTime = time.Second
	next.History = History{HistoryKeepAll, 1}
	next.DataRepresentation.Value = []DataRepresentationKind{DataRepresentationXCDR2}
	assert.Equal(t, []Change{
		{PolicyReliability, "RELIABLE max_blocking_time 100ms", "RELIABLE max_blocking_time 1s"},
		{PolicyHistory, "KEEP_LAST 1", "KEEP_ALL"},
		{PolicyDataRepresentation, "[]", "[XCDR2]"},
	}, q.ImmutableChanges(next))
	assert.Equal(t, "HISTORY from KEEP_LAST 1 to KEEP_ALL", q.ImmutableChanges(next)[1].String())

	sub := DefaultSubscriber()
	nextSub := sub
	nextSub.Partition.Name = []string{"A"}
	nextSub.Presentation.AccessScope = PresentationGroup
	changes := sub.ImmutableChanges(nextSub)
	require.Len(t, changes, 1)
	assert.Equal(t, PolicyPresentation, changes[0].Policy)
}

func TestCopyFromTopic(t *testing.T) {
	topic := DefaultTopic()
	topic.Reliability.Kind = ReliabilityReliable
	topic.Lifespan.Duration = time.Minute
	topic.History.Depth = 7
	w, r := DefaultDataWriter().CopyFromTopic(topic), DefaultDataReader().CopyFromTopic(topic)
	assert.Equal(t, topic.Reliability, w.Reliability)
	assert.Equal(t, topic.Lifespan, w.Lifespan)
	assert.Equal(t, topic.History, r.History)
	assert.Equal(t, DefaultDataWriter().WriterDataLifecycle, w.WriterDataLifecycle)
}

func TestPolicyIDOutOfRange(t *testing.T) {
	assert.Equal(t, "POLICY_99", PolicyID(99).String())
	assert.Equal(t, "POLICY_-1", PolicyID(-1).String())
	assert.False(t, PolicyID(99).Changeable())
}
