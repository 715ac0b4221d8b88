package idlc

import (
	"maps"
	"path"
	"path/filepath"
	"strings"
)

// This file reads the interface files of ROS 2 (.msg, .srv, .action) in place of IDL. It gives the tokens of the IDL
// that rosidl would make of them, each at the place in the file that it stands for, so that everything behind the
// preprocessor works on them as on IDL and reports line and column of the file. ros2_line.go reads a line.
//
// geometry_msgs/msg/Point.msg becomes @final struct geometry_msgs::msg::dds_::Point_, which is the name of the type in
// DDS. A service X becomes X_Request_ and X_Response_ in module srv; an action X becomes X_Goal_, X_Result_ and
// X_Feedback_ and the five types that its services and its topic carry. The headers that some ROS 2 middlewares put
// before requests and replies are not part of the types.
//
// DDS knows no constants. Constant Y of Point.msg is Point__Y in IDL, as in the C of rosidl, and PointY in Go.

// ros2Kinds are the directories of a package by the extension of their files, which also are modules.
var ros2Kinds = map[string]string{".msg": "msg", ".srv": "srv", ".action": "action"}

// ros2Sections name the types of a file between its separators.
var ros2Sections = map[string][]string{"msg": {""}, "srv": {"_Request", "_Response"}, "action": {"_Goal", "_Result", "_Feedback"}}

// ros2Kind tells what kind of ROS 2 file a name is of; "" if none.
func ros2Kind(file string) string { return ros2Kinds[filepath.Ext(file)] }

// ros2Package gives the package of a file: the name of the directory above that for its kind.
func ros2Package(file string) string {
	abs, err := filepath.Abs(file)
	if err != nil {
		abs = file
	}
	return filepath.Base(filepath.Dir(filepath.Dir(abs)))
}

// ros2Options adapts options to a file of ROS 2: one Go package for a package of ROS 2, whose name alone -map gives.
func ros2Options(file string, opts Options) Options {
	pkg := ros2Package(file)
	if opts.Package == "" {
		opts.Package = packageName(pkg)
	}
	mapped := maps.Clone(opts.Map)
	if mapped == nil {
		mapped = map[string]string{}
	}
	expand := func(pkg, importPath string) {
		for _, kind := range ros2Kinds {
			module := pkg + "::" + kind + "::dds_"
			if _, given := mapped[module]; !given {
				mapped[module] = importPath
			}
		}
	}
	for module, importPath := range opts.Map {
		if !strings.Contains(module, "::") {
			expand(module, importPath)
		}
	}
	expand(pkg, ownPackage)
	opts.Map = mapped
	return opts
}

// ros2File is what becomes of one file.
type ros2File struct {
	*preprocessor
	name    string // of the file
	pkg     string
	kind    string // msg, srv or action
	typ     string // Point
	stack   []string
	section int
	doc     []string       // of the section
	pending []rosWord      // annotations on lines of their own
	members []token        // of the section that is read
	names   map[string]Pos // of its fields
	values  map[string]Pos // of its constants
	toks    []token        // of the file, but for its includes
}

// ros2 reads a file and appends its tokens behind those of the files that it needs.
func (p *preprocessor) ros2(name, text string, stack []string) {
	f := &ros2File{preprocessor: p, name: name, pkg: ros2Package(name), kind: ros2Kind(name), stack: append(stack, name)}
	f.typ = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	start := Pos{Filename: name, Line: 1, Column: 1}
	if !rosLower(f.pkg) {
		p.report.errorf(start, "the file belongs into PACKAGE/"+f.kind+"/", "%q is not the name of a package", f.pkg)
		return
	}
	if !rosCamel(f.typ) {
		p.report.errorf(start, "it begins with a capital and has letters and digits", "%q is not the name of a type", f.typ)
		return
	}
	if p.ros2Read == nil {
		p.ros2Read = map[string]bool{}
	}
	p.ros2Read[f.pkg+"/"+f.kind+"/"+f.typ] = true

	suffixes := ros2Sections[f.kind]
	f.names, f.values = map[string]Pos{}, map[string]Pos{}
	var doc []string
	pos := start
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		pos.Column = 1
		trimmed := strings.TrimSpace(line)
		switch {
		case trimmed == "---":
			doc = nil
			if f.section == len(suffixes)-1 {
				p.report.errorf(pos, "", "one separator too many: a .%s file has %s", f.kind, ros2Separators(f.kind))
				return
			}
			f.end(suffixes[f.section], start)
			f.section++
		case trimmed == "":
			if len(f.names) == 0 && f.doc == nil {
				f.doc = doc
			}
			doc = nil
		case trimmed[0] == '#':
			doc = append(doc, strings.TrimSpace(strings.TrimLeft(trimmed, "#")))
		default:
			f.line(line, pos, doc)
			doc = nil
		}
		pos.Line++
	}
	f.end(suffixes[f.section], start)
	if f.section < len(suffixes)-1 {
		p.report.errorf(start, "separate the sections with lines of ---", "a .%s file has %s", f.kind, ros2Separators(f.kind))
		return
	}
	if f.kind == "action" {
		f.actionTypes(start)
	}
	p.text(f.toks)
}

func ros2Separators(kind string) string {
	return map[string]string{"msg": "no separator", "srv": "one separator", "action": "two separators"}[kind]
}

// end makes a struct of the section that was read.
func (f *ros2File) end(suffix string, pos Pos) {
	if len(f.members) == 0 {
		f.members = f.idl(nil, pos, "uint8 structure_needs_at_least_one_member;")
	}
	at := len(f.toks)
	f.structure(suffix, pos, f.members)
	for i := at; len(f.doc) > 0; i++ {
		if f.toks[i].is("@") {
			f.toks[i].remarks = &remarks{doc: strings.Join(f.doc, "\n")}
			break
		}
	}
	f.members, f.names, f.values, f.doc, f.pending = nil, map[string]Pos{}, map[string]Pos{}, nil, nil
}

// structure appends a struct in its module.
func (f *ros2File) structure(suffix string, pos Pos, members []token) {
	f.toks = f.idl(f.toks, pos, "module _"+f.pkg+" { module "+f.kind+" { module dds_ { @final struct "+f.typ+suffix+"_ {")
	f.toks = append(f.toks, members...)
	f.toks = f.idl(f.toks, pos, "}; }; }; };")
}

// actionTypes appends what the services and the topic of an action carry.
func (f *ros2File) actionTypes(pos Pos) {
	uuid, time := f.reference("unique_identifier_msgs", "UUID", pos), f.reference("builtin_interfaces", "Time", pos)
	for _, t := range []struct{ suffix, members string }{
		{"_SendGoal_Request", uuid + " goal_id; " + f.typ + "_Goal_ goal;"},
		{"_SendGoal_Response", "boolean accepted; " + time + " stamp;"},
		{"_GetResult_Request", uuid + " goal_id;"},
		{"_GetResult_Response", "int8 status; " + f.typ + "_Result_ result;"},
		{"_FeedbackMessage", uuid + " goal_id; " + f.typ + "_Feedback_ feedback;"},
	} {
		f.structure(t.suffix, pos, f.idl(nil, pos, t.members))
	}
}

// idl appends the tokens of IDL that stands for what is at pos.
func (f *ros2File) idl(toks []token, pos Pos, text string) []token {
	list := lexDirective(text, pos, f.report)
	for i := range list {
		list[i].Pos = pos
	}
	return append(toks, list...)
}

// reference gives the scoped name of a message in IDL, and reads its file unless that is done.
func (f *ros2File) reference(pkg, typ string, pos Pos) string {
	scoped := "::_" + pkg + "::msg::dds_::" + typ + "_"
	key := pkg + "/msg/" + typ
	if f.ros2Read[key] {
		return scoped
	}
	share := filepath.Join(filepath.Dir(f.name), "..", "..")
	dirs := []string{filepath.Join(share, pkg, "msg")}
	if pkg == f.pkg {
		dirs[0] = filepath.Join(filepath.Dir(f.name), "..", "msg")
	}
	for _, dir := range f.include {
		dirs = append(dirs, filepath.Join(dir, pkg, "msg"), filepath.Join(dir, "share", pkg, "msg"))
	}
	if f.reads >= maxFiles || f.bytes > maxText || len(f.stack) > maxIncludeDepth {
		f.report.errorf(pos, "", "more than %d files of %d bytes in all, or %d deep", maxFiles, maxText, maxIncludeDepth)
		return scoped
	}
	for _, dir := range dirs {
		name := filepath.Join(dir, typ+".msg")
		text, err := f.read(name)
		if err != nil {
			continue
		}
		if _, again := f.report.includedAt[name]; !again {
			f.report.includedAt[name] = pos
		}
		f.file(name, string(text), f.stack)
		f.ros2Read[key] = true // also if the directory has another name
		return scoped
	}
	f.ros2Read[key] = true // reported once
	f.report.errorf(pos, "name the directory of its package with -I, as in -I /opt/ros/DISTRO/share", "cannot find %s",
		path.Join(pkg, "msg", typ+".msg"))
	return scoped
}
