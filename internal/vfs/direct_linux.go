package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// direct sets O_DIRECT. A kernel that does not say what the file system needs (before 6.1) is believed to need sectors;
// if that is wrong, the first write undoes it.
func direct(f *os.File, limit int) int {
	fd := int(f.Fd())
	var info unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_DIOALIGN, &info); err != nil {
		return 0
	}
	align := SectorBytes
	if info.Mask&unix.STATX_DIOALIGN != 0 {
		align = int(max(info.Dio_offset_align, info.Dio_mem_align, SectorBytes))
		if info.Dio_offset_align == 0 {
			return 0
		}
	}
	if align > limit || !setDirect(f, true) {
		return 0
	}
	return align
}

// undirect takes O_DIRECT back, and says whether the file had it.
func undirect(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_DIRECT != 0 && setDirect(f, false)
}

func setDirect(f *os.File, on bool) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	flags &^= unix.O_DIRECT
	if on {
		flags |= unix.O_DIRECT
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETFL, flags)
	return err == nil
}
