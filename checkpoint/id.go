package checkpoint

import (
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"sync"
	"time"
)

// gregorianToUnix is the time between 15 October 1582, where UUID time begins, and 1970, in 100 ns.
const gregorianToUnix = 122192928000000000

var lastID struct {
	sync.Mutex
	time int64
}

// NewID makes a checkpoint ID: a UUID of version 6, whose text sorts by time. IDs made by one process rise strictly, even
// within one tick of the clock or when it goes back. The step goes into the 14 bits of the clock sequence, as LangGraph
// does it, so that -1 becomes 16383.
func NewID(step int) string {
	now := time.Now().UnixNano()/100 + gregorianToUnix
	lastID.Lock()
	if now <= lastID.time {
		now = lastID.time + 1
	}
	lastID.time = now
	lastID.Unlock()

	var node [8]byte
	_, _ = rand.Read(node[2:]) // crypto/rand.Read never fails
	return fmt.Sprintf("%08x-%04x-6%03x-%04x-%012x",
		now>>28&0xffffffff, now>>12&0xffff, now&0xfff, 0x8000|step&0x3fff, binary.BigEndian.Uint64(node[:]))
}
