// Package roles is what the processes of the avionics example do, on the public API of the middleware.
//
//	adc1, adc2   air-data computers: publish AirData, a hundred times a second
//	nav          publishes own-ship's Position
//	traffic      a surveillance receiver: publishes TrafficReport
//	fms          takes all of these; publishes Advisory and FlightLog
//	display1/2   take everything
//
// A process is told by its conductor what to do (package control) and leaves when its conductor is gone. Run is its
// main function.
//
// # How a process counts
//
// Each writer numbers its samples from 1. Each reader takes its samples in the order of their reception, on a goroutine
// of its own, and feeds them to an order.Tracker before it does anything else with them. Readers lend encoded samples
// and look at them through the generated views, so that counting costs no decoding.
//
// # Concurrency
//
// A subscription's state is guarded by its mutex; the fms has one lock for all that its three inputs come together in,
// and writes under it, so that the numbers of its samples ascend. Lock order: subscription, then fms.
package roles
