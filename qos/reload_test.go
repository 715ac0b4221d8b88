package qos

import (
	"context"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// rewrite puts a profile with this depth, and maybe more, into a file.
func rewrite(t *testing.T, file, depth, more string) {
	t.Helper()
	text := inLibrary(`<qos_profile name="A"><datawriter_qos><history><depth>` + depth + `</depth></history>` + more + `</datawriter_qos></qos_profile>`)
	// In one step, as whoever reads meanwhile would see half of it.
	require.NoError(t, os.WriteFile(file+".new", []byte(text), 0o600))
	require.NoError(t, os.Rename(file+".new", file))
}

func TestReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	rewrite(t, file, "2", "")
	p, err := LoadFile(file)
	require.NoError(t, err)
	require.NoError(t, p.Load("derived", reader(inLibrary(`<qos_profile name="B" base_name="A"/><qos_profile name="C"/>`))))
	var told []Reload
	stop := p.OnReload(func(r Reload) { told = append(told, r) })

	assert.False(t, p.Modified())
	assert.Equal(t, Reload{}, p.Reload(), "nothing has changed")
	assert.Empty(t, told)

	rewrite(t, file, "3", "")
	assert.True(t, p.Modified())
	assert.Equal(t, Reload{Profiles: []string{"L::A", "L::B"}}, p.Reload(), "and what inherits from it")
	assert.Len(t, told, 1)
	w, err := p.DataWriter("L::B", "")
	require.NoError(t, err)
	assert.Equal(t, int32(3), w.History.Depth)

	rewrite(t, file, "0", "")
	r := p.Reload()
	var errs XMLErrors
	assert.ErrorAs(t, r.Err, &errs)
	assert.Len(t, told, 2)
	w, err = p.DataWriter("L::B", "")
	require.NoError(t, err)
	assert.Equal(t, int32(3), w.History.Depth, "as it was")
	assert.False(t, p.Modified(), "that error was told")

	require.NoError(t, os.Remove(file))
	assert.True(t, p.Modified())
	assert.ErrorIs(t, p.Reload().Err, os.ErrNotExist)
	assert.False(t, p.Modified())

	stop()
	stop()
	rewrite(t, file, "4", "")
	assert.Equal(t, []string{"L::A", "L::B"}, p.Reload().Profiles)
	assert.Len(t, told, 3, "not after stop")
}

func TestWatch(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	rewrite(t, file, "2", "")
	p, err := LoadFile(file)
	require.NoError(t, err)
	told := make(chan Reload, 10)
	p.OnReload(func(r Reload) { told <- r })
	ticks := make(chan time.Time)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- p.Watch(ctx, ticks) }()

	ticks <- time.Time{}
	rewrite(t, file, "5", "")
	ticks <- time.Time{}
	assert.Equal(t, Reload{Profiles: []string{"L::A"}}, <-told)
	rewrite(t, file, "x", "")
	ticks <- time.Time{}
	assert.Error(t, (<-told).Err)
	ticks <- time.Time{}
	ticks <- time.Time{}
	assert.Empty(t, told, "an error is told once")
	cancel()
	assert.ErrorIs(t, <-ended, context.Canceled)
}

// What a program does with a profile that has changed.
func TestApply(t *testing.T) {
	file := filepath.Join(t.TempDir(), "q.xml")
	rewrite(t, file, "2", "")
	p, err := LoadFile(file)
	require.NoError(t, err)
	old, err := p.DataWriter("L::A", "")
	require.NoError(t, err)
	rewrite(t, file, "3", `<deadline><period><sec>1</sec></period></deadline><ownership_strength><value>7</value></ownership_strength>`)
	require.NoError(t, p.Reload().Err)
	next, err := p.DataWriter("L::A", "")
	require.NoError(t, err)

	now, list := old.Apply(next)
	want := old
	want.Deadline.Period = time.Second
	want.OwnershipStrength.Value = 7
	assert.Equal(t, want, now, "what may change")
	var texts []string
	var restart []Change
	for _, c := range list {
		texts = append(texts, c.String())
		if !c.Changeable() {
			restart = append(restart, c)
		}
	}
	assert.Equal(t, []string{
		"DEADLINE from INFINITE to 1s", "OWNERSHIP_STRENGTH from 0 to 7", "HISTORY from KEEP_LAST 2 to KEEP_LAST 3",
	}, texts)
	assert.Equal(t, old.ImmutableChanges(next), restart)
	assert.Empty(t, old.ImmutableChanges(now))

	pub := DefaultPublisher()
	nextPub := pub
	nextPub.Partition.Name = []string{"A"}
	nextPub.Presentation.OrderedAccess = true
	nowPub, changes := pub.Apply(nextPub)
	assert.Equal(t, []string{"A"}, nowPub.Partition.Name)
	assert.False(t, nowPub.Presentation.OrderedAccess)
	assert.Len(t, changes, 2)
	assert.Nil(t, pub.Partition.Name, "the old value is as it was")
}

// What somebody has set besides a profile stays when another policy of the profile changes.
func TestFollow(t *testing.T) {
	from := DefaultDataWriter()
	q := from
	q.Deadline.Period, q.History.Depth, q.OwnershipStrength.Value = 5*time.Second, 9, 4
	next := from
	next.Lifespan.Duration, next.OwnershipStrength.Value, next.Ownership.Kind = time.Minute, 7, OwnershipExclusive
	now, list := q.Follow(from, next)
	want := q
	want.Lifespan.Duration, want.OwnershipStrength.Value = time.Minute, 7
	assert.Equal(t, want, now)
	assert.Equal(t, []Change{
		{PolicyOwnership, "SHARED", "EXCLUSIVE"}, {PolicyOwnershipStrength, "4", "7"}, {PolicyLifespan, "INFINITE", "1m0s"},
	}, list)
	same, list := q.Follow(next, next)
	assert.Equal(t, q, same)
	assert.Empty(t, list)
}

// Who asks for a profile does not wait for a file that is slow to read.
func TestProfilesWhileAFileIsRead(t *testing.T) {
	dir := t.TempDir()
	file, slow := filepath.Join(dir, "q.xml"), filepath.Join(dir, "slow.xml")
	rewrite(t, file, "2", "")
	p, err := LoadFile(file)
	require.NoError(t, err)
	require.NoError(t, syscall.Mkfifo(slow, 0o600))
	loaded := make(chan error, 1)
	go func() { loaded <- p.LoadFile(slow) }()
	pipe, err := os.OpenFile(slow, os.O_WRONLY, 0) // returns when the other end is open
	require.NoError(t, err)
	w, err := p.DataWriter("L::A", "")
	require.NoError(t, err)
	require.Equal(t, int32(2), w.History.Depth)
	p.OnReload(func(Reload) {})()
	_, err = pipe.WriteString(inLibrary(`<qos_profile name="B" base_name="A"/>`))
	require.NoError(t, err)
	require.NoError(t, pipe.Close())
	require.NoError(t, <-loaded)
	require.Equal(t, []string{"L::A", "L::B"}, p.Profiles())
}
