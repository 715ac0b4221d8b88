package isolate_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/omg-dds-go/dds/bench/internal/isolate"
)

func TestMain(m *testing.M) {
	if to := os.Getenv("DDS_BENCH_DIAL"); to != "" {
		_, err := net.Dial("tcp", to)
		fmt.Println(err)
		return
	}
	if err := isolate.Possible(); err != nil {
		fmt.Println("SKIP:", err)
		return
	}
	os.Exit(isolate.Main(m.Run))
}

func TestThereIsOnlyALoopbackThatCarriesMulticast(t *testing.T) {
	all, err := net.Interfaces()
	require.NoError(t, err)
	var up []string
	for _, i := range all {
		if i.Flags&net.FlagUp != 0 {
			up = append(up, i.Name)
			assert.NotZero(t, i.Flags&net.FlagMulticast, "%s has flags %s", i.Name, i.Flags)
		}
	}
	assert.Equal(t, []string{"lo"}, up)
}

func TestSharedMemoryIsEmptyAndOurs(t *testing.T) {
	files, err := os.ReadDir("/dev/shm")
	require.NoError(t, err)
	assert.Empty(t, files)
	require.NoError(t, os.WriteFile("/dev/shm/mark", nil, 0o600), "it must be writable, and gone with this process")
}

// The tests run in namespaces of their own, so what this makes is gone with them. It comes last: there is a bridge afterwards.
func TestHostsReachEachOther(t *testing.T) {
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skip("needs the ip command (Debian package iproute2)")
	}
	hosts, err := isolate.Hosts(3)
	require.NoError(t, err)
	require.Len(t, hosts, 3)
	for _, from := range hosts {
		for _, to := range hosts {
			// A connection that is refused has been there and back.
			dial := exec.Command("ip", "netns", "exec", from.Namespace, os.Args[0])
			dial.Env = append(os.Environ(), "DDS_BENCH_DIAL="+to.Address+":1")
			out, err := dial.CombinedOutput()
			require.NoError(t, err)
			assert.Contains(t, string(out), "refused", "%s to %s", from.Namespace, to.Namespace)
		}
	}
	files, err := os.ReadDir("/run/netns")
	require.NoError(t, err)
	assert.Len(t, files, 3, "no names of others")
}
