package dcps

import "sync/atomic"

// doubt is what a writer knows of samples that it has sent, but that its readers may never get, because the others went on
// without this process meanwhile. Such a sample may have been accepted after that, while this process did not know it yet.
//
// All words are sequentially consistent. A sample is in doubt if its process was excluded between the reservation of its
// place and its acknowledgement; one of two goroutines sees that:
//
//	the polling one   raises exclusions, then reads the number of writer.turn and writer.acked
//	the writing one   reads exclusions, takes place and number, publishes, then reads exclusions again
//
// If the second reading still shows the first one's value, the number was there when the polling goroutine looked.
type doubt struct {
	exclusions atomic.Uint64 // of this process; raised by the polling goroutine
	untold
}

// untold counts what whoever waits for acknowledgements is to be told of once.
type untold struct {
	raised atomic.Uint64 // how often there was something
	told   atomic.Uint64 // how much of raised a caller of WaitForAcknowledgments was told; only rises
}

// sent looks whether the process was excluded since the reading of exclusions that goes with a sample, which is published.
func (d *doubt) sent(exclusions uint64) {
	if d.exclusions.Load() != exclusions {
		d.raised.Add(1)
	}
}

// tell reports whether there was something, samples that came to be in doubt say, of which nobody had been told when
// told was from. All who ask with the same from get the same answer, so that of several that wait at once each is told.
func (d *untold) tell(from uint64) bool {
	raised := d.raised.Load()
	if raised == from {
		return false
	}
	rise(&d.told, raised)
	return true
}

// rise raises a word that never falls.
func rise(w *atomic.Uint64, to uint64) {
	for {
		is := w.Load()
		if is >= to || w.CompareAndSwap(is, to) {
			return
		}
	}
}
