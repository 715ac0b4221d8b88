package idlc

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// rosFiles is a tree of packages.
var rosFiles = map[string]string{
	"share/builtin_interfaces/msg/Time.msg":     "# Since 1970.\n\nint32 sec\nuint32 nanosec # below 10^9\n",
	"share/unique_identifier_msgs/msg/UUID.msg": "uint8[16] uuid\n",
	"share/geometry_msgs/msg/Point.msg":         "float64 x 0\nfloat64 y 0\nfloat64 z 0\n",
	"ws/demo/msg/Other.msg":                     "int64 sequence\n",
	"ws/demo/msg/Empty.msg":                     "# nothing\nint8 ONE=1\n",
}

// compileROS compiles one more file beside those of the tree.
func compileROS(name, text string, opts Options) ([]OutFile, *Report) {
	opts.ReadFile = func(file string) ([]byte, error) {
		file = filepath.ToSlash(file)
		if file == name {
			return []byte(text), nil
		}
		if text, ok := rosFiles[file]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	}
	if opts.Include == nil {
		opts.Include = []string{"."} // share/PACKAGE below it
	}
	opts.Map = map[string]string{"builtin_interfaces": "ex.org/builtin_interfaces", "geometry_msgs": "ex.org/geometry_msgs", "unique_identifier_msgs": "ex.org/uuid"}
	return Compile(name, opts)
}

const rosAll = `# All of it.
# In two lines.

builtin_interfaces/Time stamp
geometry_msgs/msg/Point[] points
geometry_msgs/Point[2] two
string<=10 name "a # b"  # of it
int32[<=5] few
int32[3] three
wstring<=4[<=3] wide
uint8 KIND_A=1   # first
# The other.
uint8 KIND_B = 0xff
string HELLO='it "is"'
string PLAIN=so it is
float32 PI=3.14
int32 TEN=010
int32 EIGHT=0o10
bool ok True
char c 65
byte b
float32 module -1e3
Other other
Empty[] nothing
@optional
float64 maybe
@key uint16 id
duration d
`

// TestROS2 wants the types that rosidl would make.
func TestROS2(t *testing.T) {
	rosFiles["share/builtin_interfaces/msg/Duration.msg"] = "int32 sec\nuint32 nanosec\n"
	for _, c := range []struct {
		name, text string
		out        string   // Go file
		want       []string // in it
	}{
		{"ws/demo/msg/All.msg", rosAll, "All_idl.go", []string{
			"package demo\n", "// All of it.\n// In two lines.\ntype All struct {\n",
			"// first\nconst AllKindA uint8 = 1\n", "// The other.\nconst AllKindB uint8 = 255\n", `const AllHello string = "it \"is\""`, `const AllPlain string = "so it is"`, "const AllPi float32 = 3.14\n",
			"const AllTen int32 = 10\n", "const AllEight int32 = 8\n",
			"Text: `@final struct builtin_interfaces::msg::dds_::Time_ {\n", `@final struct demo::msg::dds_::Empty_ {
	@id(0) uint8 structure_needs_at_least_one_member;
};
@final struct builtin_interfaces::msg::dds_::Duration_ {
	@id(0) int32 sec;
	@id(1) uint32 nanosec;
};
@final struct demo::msg::dds_::All_ {
	@id(0) builtin_interfaces::msg::dds_::Time_ stamp;
	@id(1) sequence<geometry_msgs::msg::dds_::Point_> points;
	@id(2) geometry_msgs::msg::dds_::Point_[2] two;
	@id(3) string<10> name;
	@id(4) sequence<int32, 5> few;
	@id(5) int32[3] three;
	@id(6) sequence<wstring<4>, 3> wide;
	@id(7) boolean ok;
	@id(8) uint8 c;
	@id(9) octet b;
	@id(10) float module;
	@id(11) demo::msg::dds_::Other_ other;
	@id(12) sequence<demo::msg::dds_::Empty_> nothing;
	@optional @id(13) double maybe;
	@key @id(14) uint16 id;
	@id(15) builtin_interfaces::msg::dds_::Duration_ d;
};
`, "m.Name = \"a # b\"\n", "m.Ok = true\n", "m.C = 65\n", "m.Module = -1000\n"}},
		{"ws/demo/msg/Texts.msg", `string a "tab\tline\nquote\"slash\\x\x41\101\u00e4\d" # it
string b 'it\'s # no comment, "is" it' # [m/s] comment
string c plain\ttext
wstring d "\u20ac#"
string E="a\nb#c"
float64 speed # over ground [m/s]
float64 angle # within [0, 360] and more
# Height.
# [m]
float64 height
`, "Texts_idl.go", []string{
			`m.A = "tab\tline\nquote\"slash\\xAAä\\d"`, `m.B = "it's # no comment, \"is\" it"`, `m.C = "plain\ttext"`, `m.D = "€#"`, `const TextsE string = "a\nb#c"`,
			"// over ground\n\t// Unit: m/s.\n\tSpeed float64", "// within [0, 360] and more\n\tAngle", "// Height.\n\t// Unit: m.\n\tHeight", "// comment\n\t// Unit: m/s.\n",
		}},
		{"ws/demo/srv/Add.srv", "int8 MOST=3\nint64 a\nOther b\n---\nint64 sum\n", "Add_srv_idl.go", []string{
			"package demo\n", "const AddRequestMost int8 = 3\n", "type AddRequest struct {\n\tA int64 `json:\"a\"`\n\tB Other `json:\"b\"`\n}",
			`"demo::srv::dds_::Add_Request_"`, `"demo::srv::dds_::Add_Response_"`,
		}},
		{"ws/demo/srv/Nothing.srv", "---\n", "Nothing_srv_idl.go", []string{"structure_needs_at_least_one_member", "type NothingRequest struct", "type NothingResponse struct"}},
		{"ws/demo/action/Fibonacci.action", "# The goal.\n\nint32 order\n---\nint32[] sequence\n---\nint32[] partial\n", "Fibonacci_action_idl.go", []string{
			"// The goal.\ntype FibonacciGoal struct {\n", "type FibonacciResult struct {", "type FibonacciFeedback struct {",
			`@final struct demo::action::dds_::Fibonacci_SendGoal_Request_ {
	@id(0) unique_identifier_msgs::msg::dds_::UUID_ goal_id;
	@id(1) demo::action::dds_::Fibonacci_Goal_ goal;
};`, `@final struct demo::action::dds_::Fibonacci_SendGoal_Response_ {
	@id(0) boolean accepted;
	@id(1) builtin_interfaces::msg::dds_::Time_ stamp;
};`, `@final struct demo::action::dds_::Fibonacci_GetResult_Request_ {
	@id(0) unique_identifier_msgs::msg::dds_::UUID_ goal_id;
};`, `@final struct demo::action::dds_::Fibonacci_GetResult_Response_ {
	@id(0) int8 status;
	@id(1) demo::action::dds_::Fibonacci_Result_ result;
};`, `@final struct demo::action::dds_::Fibonacci_FeedbackMessage_ {
	@id(0) unique_identifier_msgs::msg::dds_::UUID_ goal_id;
	@id(1) demo::action::dds_::Fibonacci_Feedback_ feedback;
};`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files, report := compileROS(c.name, c.text, Options{})
			if len(files) != 1 || report.String() != "" || files[0].Path != c.out {
				t.Fatalf("%d files, %s", len(files), report)
			}
			wantFormatted(t, c.name, files[0])
			for _, want := range c.want {
				if !strings.Contains(squeeze(string(files[0].Content)), squeeze(want)) {
					t.Errorf("no %s in\n%s", want, files[0].Content)
				}
			}
		})
	}
}

// squeeze makes one blank of several, which only align columns.
func squeeze(s string) string {
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	return s
}

// TestROS2Errors wants line and column of the file itself.
func TestROS2Errors(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"ws/demo/msg/A.msg", "int32", "1:1: int32 needs a name; write TYPE name, or TYPE NAME=value"},
		{"ws/demo/msg/A.msg", "\n  int23 x", "2:3: unknown type int23; did you mean int32?"},
		{"ws/demo/msg/A.msg", "Missing x", "1:1: cannot find demo/msg/Missing.msg; name the directory of its package with -I, as in -I /opt/ros/DISTRO/share"},
		{"ws/demo/msg/A.msg", "other/Missing x", "1:1: cannot find other/msg/Missing.msg; name the directory of its package with -I, as in -I /opt/ros/DISTRO/share"},
		{"ws/demo/msg/A.msg", "Other/Missing x", "1:1: \"Other\" is not the name of a package; write package/Type"},
		{"ws/demo/msg/A.msg", "int32 X", "1:7: \"X\" is no name for it; a field has small letters, digits, and underscores between them"},
		{"ws/demo/msg/A.msg", "int32 a__b", "1:7: \"a__b\" is no name for it; a field has small letters, digits, and underscores between them"},
		{"ws/demo/msg/A.msg", "int32 a\nint32  a", "2:8: a is declared twice, first in line 1"},
		{"ws/demo/msg/A.msg", "int32 a_b\nint32  ab\nint32 aB=3", "3:7: \"aB\" is no name for it; a constant has capitals, digits, and underscores between them"},
		{"ws/demo/msg/A.msg", "uint8 X = 256", "1:11: \"256\" is out of the range of uint8"},
		{"ws/demo/msg/A.msg", "int8 x -129", "1:8: \"-129\" is out of the range of int8"},
		{"ws/demo/msg/A.msg", "int8 x 1.5", "1:8: \"1.5\" is no integer"},
		{"ws/demo/msg/A.msg", "float32 x 1e99", "1:11: \"1e99\" is no number of type float32"},
		{"ws/demo/msg/A.msg", "bool x yes", "1:8: \"yes\" is neither true nor false"},
		{"ws/demo/msg/A.msg", "string x \"a", "1:10: \"\\\"a\" is no string: its quotes do not match"},
		{"ws/demo/msg/A.msg", "string<=2 x \"abc\"", "1:13: "},
		{"ws/demo/msg/A.msg", "int32<=3 x", "1:1: int32 cannot have a bound; only strings have a bound before the brackets"},
		{"ws/demo/msg/A.msg", "int32[<=] x", "1:1: the bound is missing; write it as in int32[<=5]"},
		{"ws/demo/msg/A.msg", "int32[x] x", "1:1: \"int32[x]\" is no type; write it as int32, string<=10, int32[3], int32[], int32[<=5] or package/Type"},
		{"ws/demo/msg/A.msg", "int32[0] x", "1:10: "},
		{"ws/demo/msg/A.msg", "Other X=1", "1:1: a constant cannot have type Other; constants are numbers, booleans and strings"},
		{"ws/demo/msg/A.msg", "Other x 1", "1:9: a field of type Other cannot have a default"},
		{"ws/demo/msg/A.msg", "int32[2] x 1", "1:12: \"1\" is no default for an array; write it as in [1, 2, 3]"},
		{"ws/demo/msg/A.msg", "int8[2] x [1, 300]", "1:11: \"300\" is out of the range of int8"},
		{"ws/demo/msg/A.msg", "int8[2] x [1, 2]", "1:11: warning: the default of an array is left out: IDL has none; set it in the program"},
		{"ws/demo/msg/A.msg", "string[] x [\"a # b\", 'c, d'] # all", "1:12: warning: the default of an array is left out: IDL has none; set it in the program"},
		{"ws/demo/msg/A.msg", "string[] x [\"a, 'c']", "1:12: \"\\\"a, 'c'\" is no string: its quotes do not match"},
		{"ws/demo/msg/A.msg", "string[] x [\"a\" b]", "1:12: \"\\\"a\\\" b\" is no string: its quotes do not match"},
		{"ws/demo/msg/A.msg", "@optinal\nint8 x", "1:1: warning: "},
		{"ws/demo/msg/A.msg", "A a", "1:1: "},
		{"ws/demo/msg/A.msg", "int8 a\n---", "2:1: one separator too many: a .msg file has no separator"},
		{"ws/demo/srv/A.srv", "int8 a", "1:1: a .srv file has one separator; separate the sections with lines of ---"},
		{"ws/demo/action/A.action", "---\n---\n---", "3:1: one separator too many: a .action file has two separators"},
		{"ws/Demo/msg/A.msg", "int8 a", "1:1: \"Demo\" is not the name of a package; the file belongs into PACKAGE/msg/"},
		{"ws/demo/msg/a.msg", "int8 a", "1:1: \"a\" is not the name of a type; it begins with a capital and has letters and digits"},
	} {
		_, report := compileROS(c.name, c.text, Options{})
		if got, _, _ := strings.Cut(report.String(), "\n"); !strings.HasPrefix(got, c.name+":"+c.want) || strings.HasSuffix(c.want, "?") && got != c.name+":"+c.want {
			t.Errorf("%q:\ngot  %s\nwant %s:%s", c.text, report, c.name, c.want)
		}
	}
	_, report := compileROS("ws/demo/msg/A.msg", "geometry_msgs/Point p\n", Options{Include: []string{"nowhere"}})
	if want := "ws/demo/msg/A.msg:1:1: cannot find geometry_msgs/msg/Point.msg"; !strings.HasPrefix(report.Explain(), want) || !strings.Contains(report.Explain(), "1 | geometry_msgs/Point p\n      | ^~~") {
		t.Error(report.Explain())
	}
}

// TestROS2LongLine would take hours if a word took time for all that stands before it.
func TestROS2LongLine(t *testing.T) {
	const n = 1 << 21
	l := cutRosLine(strings.Repeat("@ä ", n)+"int8 x 7 # end", Pos{Line: 1, Column: 1})
	if len(l.annotations) != n || l.annotations[n-1].pos.Column != 3*n-2 || l.typ.pos.Column != 3*n+1 || l.name.pos.Column != 3*n+6 || l.value.pos.Column != 3*n+8 || l.comment != "end" {
		t.Errorf("%d annotations, %v, %v, %v, %q", len(l.annotations), l.typ, l.name, l.value, l.comment)
	}
}

// FuzzROS2 gives any text to the reader of ROS 2 files, also as what is included.
func FuzzROS2(f *testing.F) {
	f.Add(uint8(0), rosAll)
	f.Add(uint8(1), "int64 a\n---\nint64 sum\nFuzz f\n")
	f.Add(uint8(2), "int32 order # \n---\nstring[<=3] s ['a', \"b\"]\n---\n@key int8 x 0x7f\n")
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		name := []string{"ws/demo/msg/Fuzz.msg", "ws/demo/srv/Fuzz.srv", "ws/demo/action/Fuzz.action"}[kind%3]
		start := time.Now()
		files, report := compileROS(name, text, Options{})
		if took := time.Since(start); took > 5*time.Second {
			t.Fatalf("took %s", took)
		}
		for _, d := range report.Diagnostics() {
			if d.What == "" || d.Pos.Filename == "" || strings.Contains(d.What, "internal error") {
				t.Fatalf("bad diagnostic %q", d)
			}
		}
		if !report.Failed() && len(files) != 1 {
			t.Fatalf("%d files, %s", len(files), report)
		}
		for _, out := range files {
			wantFormatted(t, name, out)
		}
	})
}
