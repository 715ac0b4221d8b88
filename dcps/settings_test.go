package dcps

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A place where no logs can be is refused when the participant is made, not when the first topic needs it.
func TestDirIsChecked(t *testing.T) {
	dir, err := os.MkdirTemp("", "dds")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755)) // others may read
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	refused := func(dir, says string) {
		t.Helper()
		_, err := NewDomainParticipant(patiently(t), 0, WithSettings(Settings{Dir: dir}))
		require.ErrorIs(t, err, ErrBadParameter)
		for _, part := range []string{"Settings.Dir", dir, says, "name a directory"} {
			require.ErrorContains(t, err, part)
		}
	}
	refused(file, file+" is not a directory")
	refused(filepath.Join(file, "logs"), "not a directory")
	refused("/dev/null", "/dev/null is not a directory")
	refused("/dev/null/logs", "not a directory")
	link := filepath.Join(dir, "link")
	require.NoError(t, os.Symlink(filepath.Join(dir, "gone"), link))
	refused(link, link+" is a link to what is not there")
	refused(filepath.Join(link, "logs"), link+" is a link")
	t.Setenv("DDS_DIR", file)
	_, err = NewDomainParticipant(patiently(t), 0)
	require.ErrorContains(t, err, "DDS_DIR is")

	there := filepath.Join(dir, "some", "where")
	s, err := Settings{Dir: there}.withDefaults(func(string) string { return "" })
	require.NoError(t, err)
	require.Equal(t, there, s.Dir)
	require.NoDirExists(t, filepath.Dir(there), "it is made with the first log")

	p := &DomainParticipant{id: 7, settings: Settings{Dir: filepath.Join(dir, "kept")}}
	theirs, mine := filepath.Join(dir, "theirs"), p.settings.Dir
	require.NoError(t, os.MkdirAll(filepath.Join(theirs, filepath.Base(p.logDir(3))), 0o755))
	require.NoError(t, os.MkdirAll(p.logDir(3), 0o755))
	require.NoError(t, os.Chmod(p.logDir(3), 0o777))
	require.NoError(t, os.Chmod(filepath.Join(theirs, filepath.Base(p.logDir(3))), 0o555))
	require.NoError(t, os.Chmod(mine, 0o555))
	require.NoError(t, os.Chmod(theirs, 0o555))
	t.Cleanup(func() { require.NoError(t, os.Chmod(mine, 0o755)); require.NoError(t, os.Chmod(theirs, 0o755)) })

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	user := os.Geteuid()
	if user == 0 {
		require.NoError(t, syscall.Setfsuid(65534)) // who may do less
		defer func() { require.NoError(t, syscall.Setfsuid(user)) }()
		if _, err := os.Stat(dir); err != nil {
			t.Skipf("the rest needs a directory for temporary files that others may enter: %v", err)
		}
	} else {
		require.NoError(t, os.Chmod(dir, 0o555))
	}
	require.ErrorIs(t, checkDir(dir), fs.ErrPermission)
	require.ErrorIs(t, checkDir(there), fs.ErrPermission)
	require.NoError(t, checkDir(mine), "it has a log that may be written, and needs no other")
	require.ErrorIs(t, checkDir(theirs), fs.ErrPermission)
}

func TestSettingsAreChecked(t *testing.T) {
	for _, c := range []struct {
		name   string
		s      Settings
		env    map[string]string
		errors []string // what the error says; none if the settings are good
	}{
		{name: "nothing"},
		{name: "peers", env: map[string]string{"DDS_PEERS": "a:1,10.0.0.1:65535,[::1]:7400"}},
		{name: "listen", env: map[string]string{"DDS_LISTEN": ":7400"}},
		{name: "listen anywhere", s: Settings{Listen: "0.0.0.0:0"}},
		{name: "settings go before the environment", s: Settings{Peers: []string{"a:1"}, Listen: ":1"}, env: map[string]string{"DDS_PEERS": "no", "DDS_LISTEN": "no"}},
		{name: "no port", env: map[string]string{"DDS_PEERS": "a:1,b"}, errors: []string{"entry 2 of DDS_PEERS", `"b"`, "missing port"}},
		{name: "empty port", env: map[string]string{"DDS_PEERS": "a:"}, errors: []string{`"a:"`, `port ""`}},
		{name: "named port", env: map[string]string{"DDS_PEERS": "a:http"}, errors: []string{`"a:http"`, `port "http"`}},
		{name: "great port", env: map[string]string{"DDS_PEERS": "a:65536"}, errors: []string{`"a:65536"`, "65535"}},
		{name: "negative port", env: map[string]string{"DDS_PEERS": "a:-1"}, errors: []string{`"a:-1"`}},
		{name: "port 0", env: map[string]string{"DDS_PEERS": "a:0"}, errors: []string{`"a:0"`, "port 0"}},
		{name: "no host", env: map[string]string{"DDS_PEERS": ":7400"}, errors: []string{`":7400"`, "host is missing"}},
		{name: "space", env: map[string]string{"DDS_PEERS": "a:1, b:2"}, errors: []string{"entry 2", `" b:2"`, "space"}},
		{name: "only a space", env: map[string]string{"DDS_PEERS": " "}, errors: []string{"entry 1", `" "`}},
		{name: "empty entry", env: map[string]string{"DDS_PEERS": "a:1,,b:2"}, errors: []string{"entry 2", `""`}},
		{name: "comma at the end", env: map[string]string{"DDS_PEERS": "a:1,"}, errors: []string{"entry 2", `""`}},
		{name: "IPv6 without brackets", env: map[string]string{"DDS_PEERS": "::1:7400"}, errors: []string{`"::1:7400"`, "too many colons"}},
		{name: "peers in settings", s: Settings{Peers: []string{"a:1", "b"}}, errors: []string{"entry 2 of Settings.Peers", `"b"`}},
		{name: "listen without port", env: map[string]string{"DDS_LISTEN": "nonsense"}, errors: []string{"DDS_LISTEN", `"nonsense"`}},
		{name: "listen in settings", s: Settings{Listen: "a:b"}, errors: []string{"Settings.Listen", `"a:b"`, `port "b"`}},
		{name: "small ring", s: Settings{RingBytes: 4095}, errors: []string{"RingBytes is 4095", "power of two"}},
		{name: "odd ring", s: Settings{RingBytes: 5000}, errors: []string{"RingBytes is 5000"}},
		{name: "negative ring", s: Settings{RingBytes: -4096}, errors: []string{"RingBytes is -4096"}},
		{name: "rings that do not grow", s: Settings{RingBytes: 1 << 13, MaxRingBytes: 1 << 13}},
		{name: "small greatest ring", s: Settings{MaxRingBytes: 1 << 19}, errors: []string{"MaxRingBytes is 524288", "1048576"}},
		{name: "odd greatest ring", s: Settings{MaxRingBytes: 1<<20 + 1}, errors: []string{"MaxRingBytes is 1048577", "power of two"}},
		{name: "great greatest ring", s: Settings{MaxRingBytes: 1 << 31}, errors: []string{"MaxRingBytes is 2147483648", "1073741824"}},
		{name: "great ring", s: Settings{RingBytes: 1 << 31}, errors: []string{"RingBytes is 2147483648", "1073741824"}},
		{name: "lease", env: map[string]string{"DDS_LEASE": "2s"}},
		{name: "lease of settings", s: Settings{Lease: time.Second}, env: map[string]string{"DDS_LEASE": "no"}},
		{name: "lease without unit", env: map[string]string{"DDS_LEASE": "500"}, errors: []string{"DDS_LEASE", `"500"`, "500ms"}},
		{name: "lease of zero", env: map[string]string{"DDS_LEASE": "0s"}, errors: []string{"DDS_LEASE", `"0s"`, "10ms"}},
		{name: "short lease", env: map[string]string{"DDS_LEASE": "9ms"}, errors: []string{"DDS_LEASE is 9ms", "10ms"}},
		{name: "long lease", s: Settings{Lease: 2 * time.Hour}, errors: []string{"Settings.Lease is 2h0m0s", "1h0m0s"}},
		{name: "negative lease", s: Settings{Lease: -1}, errors: []string{"Settings.Lease is -1ns"}},
		{name: "spin", env: map[string]string{"DDS_SPIN": "1h"}},
		{name: "short spin", s: Settings{Spin: 1}, errors: []string{"Settings.Spin is 1ns", "1µs"}},
		{name: "spin without unit", env: map[string]string{"DDS_SPIN": "30"}, errors: []string{"DDS_SPIN", `"30"`}},
		{name: "slice", env: map[string]string{"DDS_SLICE": "2ms"}},
		{name: "no slice", env: map[string]string{"DDS_SLICE": "-1"}},
		{name: "no slice in settings", s: Settings{Slice: -1}},
		{name: "short slice", env: map[string]string{"DDS_SLICE": "99us"}, errors: []string{"DDS_SLICE is 99µs", "100µs", "100ms", "-1"}},
		{name: "long slice", s: Settings{Slice: time.Second}, errors: []string{"Settings.Slice is 1s", "100ms"}},
		{name: "slice without unit", env: map[string]string{"DDS_SLICE": "100"}, errors: []string{"DDS_SLICE", `"100"`}},
		{name: "lend", env: map[string]string{"DDS_LEND": "-1"}},
		{name: "lend nothing", s: Settings{LendBytes: -2}, errors: []string{"Settings.LendBytes is -2", "-1"}},
		{name: "lend from 0", env: map[string]string{"DDS_LEND": "0"}, errors: []string{"DDS_LEND is 0"}},
		{name: "lend words", env: map[string]string{"DDS_LEND": "all"}, errors: []string{"DDS_LEND", `"all"`}},
		{name: "witness", env: map[string]string{"DDS_WITNESS": "ground station"}},
		{name: "unreadable witness", env: map[string]string{"DDS_WITNESS": "a\n"}, errors: []string{"DDS_WITNESS", `"a\n"`}},
		{name: "long witness", s: Settings{Witness: strings.Repeat("x", 256)}, errors: []string{"Settings.Witness", "255"}},
		{name: "segments", s: Settings{LogSegmentBytes: 8 << 10}},
		{name: "small segments", s: Settings{LogSegmentBytes: 4096}, errors: []string{"LogSegmentBytes is 4096", "8192"}},
		{name: "odd segments", s: Settings{LogSegmentBytes: 10000}, errors: []string{"LogSegmentBytes is 10000"}},
		{name: "great segments", s: Settings{LogSegmentBytes: 1<<30 + 4096}, errors: []string{"1073741824"}},
		{name: "logs are not trimmed", s: Settings{LogTrimBytes: -1}},
		{name: "logs are trimmed to less than nothing", s: Settings{LogTrimBytes: -2}, errors: []string{"LogTrimBytes is -2", "-1"}},
		{name: "spindle", env: map[string]string{"DDS_SPINDLE": "-nulls,-batch-send"}},
		{name: "unknown switch", env: map[string]string{"DDS_SPINDLE": "-zeros"}, errors: []string{"DDS_SPINDLE", `"-zeros"`, "-nulls"}},
		{name: "switch without sign", s: Settings{Spindle: "nulls"}, errors: []string{"Settings.Spindle", "say -nulls"}},
		{name: "subgroups", s: Settings{Subgroups: -1}, errors: []string{"Subgroups is -1"}},
		{name: "transport", env: map[string]string{"DDS_TRANSPORT": "carrier pigeon"}, errors: []string{"carrier pigeon"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := c.s.withDefaults(func(name string) string { return c.env[name] })
			if c.errors == nil {
				require.NoError(t, err)
				return
			}
			for _, text := range c.errors {
				require.ErrorContains(t, err, text)
			}
			for name, value := range c.env {
				t.Setenv(name, value)
			}
			_, err = NewDomainParticipant(patiently(t), 0, WithSettings(c.s), newBus().join())
			require.ErrorIs(t, err, ErrBadParameter)
		})
	}
}

// What is set arrives where it counts.
func TestCoreFailureSettings(t *testing.T) {
	d := onCore(t, Settings{Lease: time.Second, Witness: "a", LogSegmentBytes: 8 << 10})
	a := d.node(t, WithName("a"))
	require.Equal(t, d.settings.Lease, a.p.Settings().Lease)
	for _, other := range []Settings{{Lease: 2 * time.Second, Witness: "a"}, {Lease: time.Second, Witness: "b"}, {Lease: time.Second, Witness: "a", Spindle: "-all"}} {
		_, err := NewDomainParticipant(patiently(t), d.id, WithSettings(other))
		require.ErrorIs(t, err, ErrPreconditionNotMet)
		require.ErrorContains(t, err, `lease=1s witness=\"a\"`)
	}
	d.settings.Dir = t.TempDir()
	w := d.node(t, WithName("b")).writer(t, persistentQos())
	write(t, w, 1, 1)
	require.NoError(t, w.WaitForAcknowledgments(patiently(t)))
	segments, err := filepath.Glob(filepath.Join(w.topic.logDir(), "*.seg"))
	require.NoError(t, err)
	require.NotEmpty(t, segments) // the next one may be there already
	info, err := os.Stat(segments[0])
	require.NoError(t, err)
	require.EqualValues(t, 8<<10, info.Size())
}

// An address that is written well, and that this host does not have.
func TestCoreCanNotListen(t *testing.T) {
	d := onCore(t, Settings{Listen: "192.0.2.1:7400"}) // of TEST-NET-1: no host has it
	_, err := NewDomainParticipant(patiently(t), d.id, WithSettings(d.settings))
	require.ErrorIs(t, err, ErrBadParameter)
	require.ErrorContains(t, err, "192.0.2.1:7400")
	require.ErrorContains(t, err, "DDS_LISTEN")
}

func TestTopicNamesAreChecked(t *testing.T) {
	d := onBus(t)
	n := d.node(t)
	for name, want := range map[string]string{
		"": "empty", "Tra\x00ck": "byte 3", "Track\n": "0x0a", "Tr\xffack": "0xff", strings.Repeat("x", 256): "256 bytes",
	} {
		_, err := NewTopic[track](n.p, name)
		require.ErrorIs(t, err, ErrBadParameter, "%q", name)
		require.ErrorContains(t, err, want)
		bad := announced()[0]
		bad.topic = name
		_, err = decodeAnnouncement(bad.encode())
		require.ErrorIs(t, err, errAnnouncement, "a peer does not get around it")
	}
	_, err := NewTopic[track](n.p, strings.Repeat("x", 255))
	require.NoError(t, err)
}
