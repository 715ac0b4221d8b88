// Package model makes up a flight and the traffic around it, for runs of the avionics example without recordings.
//
// Everything here is SYNTHETIC. Own-ship is a point mass: it has a position, a speed and a track, follows commands that
// are drawn at random, and turns, climbs and accelerates at bounded rates. There is no wind, no attitude and no
// aerodynamics; air data follow from altitude and speed by the International Standard Atmosphere, plus noise. Other
// aircraft fly straight and level; some are placed so that they pass close to own-ship.
//
// The same seed gives the same flight and the same traffic in every process: that is how two air-data computers, the
// navigation system and the surveillance receiver agree without talking to each other.
//
//	flight := model.NewFlight(seed)
//	flight.Advance(12500 * time.Millisecond)
//	flight.State()                       // where own-ship is after 12.5 s
//	traffic := model.NewTraffic(seed, 12)
//	at, message := traffic.Next()        // what a transponder says, and when
//
// Flight and Traffic have one owner each and are never behind: time only advances.
package model
