package idlc

// gate reports what the model can say and the Go back end does not write yet, each with its name. It is the only place that
// knows the difference: the front end accepts everything, and who teaches the printer a construct takes it out of here.
func gate(unit *Unit, report *Report) {
	for _, d := range unit.Decls {
		s, ok := d.(*Struct)
		if !ok || s.Pos.Filename != unit.File {
			continue
		}
		for _, m := range s.Members {
			if m.TryConstruct > TryConstructDiscard {
				report.warnf(m.Pos, "", "@try_construct is not applied by this version")
			}
		}
	}
}
