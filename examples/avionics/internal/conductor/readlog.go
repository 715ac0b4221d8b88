package conductor

import (
	"github.com/omg-dds-go/dds/examples/avionics/internal/avionics"
	"github.com/omg-dds-go/dds/examples/avionics/internal/ledger"
	"github.com/omg-dds-go/dds/storage"
)

// readLog reads a log back from disk, after its process has gone. Records without payload tell of writers that ended; all
// others are samples of FlightLog, the only logged topic.
func readLog(dir string) (stored []ledger.Stored, err error) {
	for r, err := range storage.Read(dir, storage.Options{}, storage.Version{}) {
		if err != nil {
			return stored, err
		}
		if len(r.Payload) == 0 {
			continue
		}
		v, err := avionics.NewFlightLogView(r.Payload)
		if err != nil {
			return stored, err
		}
		stored = append(stored, ledger.Stored{Number: v.Number(), Sum: ledger.Sum(r.Payload)})
	}
	return stored, nil
}
