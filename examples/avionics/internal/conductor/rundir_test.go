package conductor

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// kill is what SIGKILL does to a run's directory: its lock goes, its files stay.
func kill(t *testing.T, d *runDir) {
	t.Helper()
	require.NoError(t, d.lock.Close())
}

func TestSweepRemovesWhatKilledRunsLeft(t *testing.T) {
	temp := t.TempDir()
	dead, err := makeTemporary(temp)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dead.path, "fms", "log"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dead.path, "fms", "log", "segment"), make([]byte, 100), 0o600))
	kill(t, dead)
	alive, err := makeTemporary(temp)
	require.NoError(t, err)

	removed, err := sweep(temp)
	require.NoError(t, err)
	assert.Equal(t, []string{dead.path}, removed)
	assert.NoDirExists(t, dead.path)
	assert.FileExists(t, filepath.Join(alive.path, lockName))

	require.NoError(t, alive.remove())
	assert.NoDirExists(t, alive.path)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Empty(t, left)
}

// The lock is that of the file, not of a process: whoever inherits it holds it.
func TestSweepSparesARunOfWhichAProcessLives(t *testing.T) {
	temp := t.TempDir()
	d, err := makeTemporary(temp)
	require.NoError(t, err)
	crew := newCrew("", nil)
	crew.inherited = []*os.File{d.lock}
	cmd := crew.command("sleeper", nil)
	cmd.Path, cmd.Args = "/bin/sh", []string{"sh", "-c", "read line"} // until its standard input ends
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	kill(t, d)
	removed, err := sweep(temp)
	require.NoError(t, err)
	assert.Empty(t, removed)
	require.NoError(t, stdin.Close())
	_ = cmd.Wait() // read fails at the end of the input
	removed, err = sweep(temp)
	require.NoError(t, err)
	assert.Equal(t, []string{d.path}, removed)
}

func TestSweepTouchesNothingElse(t *testing.T) {
	temp, elsewhere := t.TempDir(), t.TempDir()
	made, err := makeTemporary(elsewhere)
	require.NoError(t, err)
	kill(t, made)
	lock := func(name, text string) string {
		dir := filepath.Join(temp, name)
		require.NoError(t, os.MkdirAll(dir, 0o700))
		if text != "" {
			require.NoError(t, os.WriteFile(filepath.Join(dir, lockName), []byte(text), 0o600))
		}
		return dir
	}
	lock("avionics-without-lock", "")
	lock("avionics-with-another-file", "mine\n")
	lock("avionics-with-more", lockText+"more")
	lock("another-name", lockText)
	require.NoError(t, os.Symlink(made.path, filepath.Join(temp, "avionics-link")))
	linked := lock("avionics-linked-lock", "")
	require.NoError(t, os.Symlink(filepath.Join(made.path, lockName), filepath.Join(linked, lockName)))
	require.NoError(t, os.WriteFile(filepath.Join(temp, "avionics-file"), nil, 0o600))
	before, err := os.ReadDir(temp)
	require.NoError(t, err)

	removed, err := sweep(temp)
	require.NoError(t, err)
	assert.Empty(t, removed)
	after, err := os.ReadDir(temp)
	require.NoError(t, err)
	assert.Len(t, after, len(before))
	assert.FileExists(t, filepath.Join(made.path, lockName))
}

func TestDirectoriesOfDirStay(t *testing.T) {
	d, err := makeRunDir(filepath.Join(t.TempDir(), "new", "parent"))
	require.NoError(t, err)
	require.NoError(t, d.remove())
	assert.DirExists(t, d.path)
}
