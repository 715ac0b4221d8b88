package idlc

import "os"

// Options say how to compile.
type Options struct {
	Include []string          // directories of included files
	Package string            // one Go package for everything, with this name
	Map     map[string]string // module ("a::b") to Go import path
	// ImportPath is that of the output directory, for packages that import each other.
	ImportPath string
	ReadFile   func(name string) ([]byte, error) // os.ReadFile if nil
	// Define lists macros that every file begins with: NAME, which is 1, or NAME=VALUE.
	Define []string
	// Strict refuses what describes no data, and names that are keywords of IDL's other parts. Otherwise they are warnings.
	Strict bool
	// Extensibility is that of types which do not say: "final", "appendable" or "mutable"; appendable if empty.
	Extensibility string
}

// Check runs the front end alone: it reads a file with what it includes and gives what it means. The model is whole only if the
// report has not failed. All of IDL that describes data is accepted here, also what Compile cannot write yet.
func Check(file string, opts Options) (*Unit, *Report) {
	if opts.ReadFile == nil {
		opts.ReadFile = os.ReadFile
	}
	report := newReport()
	return analyse(file, &opts, report), report
}

// Compile translates one file of IDL, or of ROS 2 if it ends in .msg, .srv or .action. Files are complete only if the
// report has not failed.
func Compile(file string, opts Options) ([]OutFile, *Report) {
	if opts.ReadFile == nil {
		opts.ReadFile = os.ReadFile
	}
	if ros2Kind(file) != "" {
		opts = ros2Options(file, opts)
	}
	report := newReport()
	unit := analyse(file, &opts, report)
	if report.Failed() {
		return nil, report
	}
	p := makePlan(unit, &opts, report)
	if report.Failed() {
		return nil, report
	}
	return p.print(), report
}

// analyse runs the front end.
func analyse(file string, opts *Options, report *Report) *Unit {
	return check(file, parse(preprocess(file, opts, report), report), opts, report)
}
