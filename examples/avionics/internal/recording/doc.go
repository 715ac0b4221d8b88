// Package recording opens the files that the avionics example replays.
//
//	file, err := recording.Open("flight.igc")
//
// A recording is a regular file: it has an end, and reading it waits for nobody. Devices, pipes and sockets are refused, and
// opening one does not block either. Several processes read the same recording, which a pipe could not serve.
package recording
