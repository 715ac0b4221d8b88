// Package control is how the conductor of the avionics example and its processes talk: lines of JSON over pipes.
//
// The conductor writes a Config and then Commands to a process's standard input; the process writes Events to file
// descriptor 3. Its standard output and error stay free for what it has to complain about.
//
//	conductor                     process
//	Config                   ->
//	                         <-   Ready        its entities exist and are matched
//	Start                    ->                sources begin to publish
//	                         <-   Note, Frame  whenever there is something to say or show
//	                         <-   Alive        every Beat, with how far it got
//	                         <-   Tells        what was taken and published since it told last
//	Stop                     ->                sources stop early
//	                         <-   Done         a source has published all, and all of it was acknowledged
//	Drain                    ->                fms: this is what the sources published
//	                         <-   Done         fms has taken it, and what it made of it was acknowledged
//	Finish                   ->                this is what everybody published
//	                         <-   Reported     what was received of it
//	Leave                    ->                close, and exit
//
// A process that is killed has said all that its conductor will ever know of it.
//
// None of the samples travels here. When a process's standard input ends, its conductor is gone and it leaves. Failed
// may come at any time and is the last event.
//
// A Link has one reader, and any goroutine may send.
package control
