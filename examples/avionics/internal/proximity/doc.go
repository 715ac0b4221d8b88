// Package proximity decides which aircraft deserve an advisory.
//
// It is a simplified likeness of what a traffic advisory system does, with fixed thresholds and no resolution advice,
// and is not fit for flight. An aircraft is Proximate within 6 NM and 1,200 feet. It is Traffic within 3 NM and 850
// feet if it comes closer or is within 1.2 NM, or if at the present closure it is less than 40 s away and within 850
// feet. To keep an advisory from flickering it ends a fifth beyond the distance at which it begins.
//
//	var m proximity.Monitor
//	m.Own(ownState)                     // each fix of own-ship
//	change, ok := m.Traffic(target)     // each report; ok if an advisory is due
//
// An advisory is due when the level changes, and while it is not Clear also every RepeatEvery. An aircraft that is not
// heard for StaleAfter is forgotten, with a Clear: see Expire. Times are those of the input.
//
// Monitor is a plain value with one owner.
package proximity
