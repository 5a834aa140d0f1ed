package table

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"unicode/utf8"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
	"cvgm/qpdiff/memory"
)

// These constants are numbers of bytes that package encoding/csv and the records take, including
// the growth of slices.
const (
	lineBytes      = 4   // for each byte of the current line, until its record is complete
	separatorBytes = 64  // for each separator of the current line, in addition
	fieldBytes     = 24  // for each field of a record, in addition to its text: a string and a value
	recordBytes    = 128 // for each record: slices, line, target and level
	columnBytes    = 192 // for each column: its name, place and description
)

// A meter counts the memory of a text while the text is read. It stops reading before the memory
// exceeds the bound.
type meter struct {
	src         io.Reader
	size        int64 // of the text; 0 if unknown
	maxBytes    int64
	separator   byte // the last byte of the separator's UTF-8 code
	columns     int  // 0 before the header is read
	records     int
	readBytes   int64   // bytes read so far
	heldBytes   float64 // bytes held by the records
	line, parts float64 // bytes and separators since the last record
	// hasBareReturn is true if, before the first line feed, a carriage return is followed by a
	// character that is not a line feed.
	hasBareReturn bool
	lastByte      byte // the last byte before the first line feed, or this line feed
}

// lineEnd sets hasBareReturn and lastByte for the bytes that follow.
func (m *meter) lineEnd(bytes []byte) {
	for _, c := range bytes {
		if m.lastByte == '\n' {
			return
		}
		m.hasBareReturn = m.hasBareReturn || m.lastByte == '\r' && c != '\n'
		m.lastByte = c
	}
}

// newMeter returns a meter of the text in src. size is the number of bytes of the text, or 0 if it
// is unknown.
func newMeter(src io.Reader, size int64, comma rune, maxBytes int64) *meter {
	separator := utf8.AppendRune(nil, comma)
	return &meter{src: src, size: size, maxBytes: memory.Bound(maxBytes), separator: separator[len(separator)-1]}
}

// sizeOf returns the number of bytes that remain in r, or 0 if it is unknown.
func sizeOf(r io.Reader) int64 {
	switch r := r.(type) {
	case interface{ Len() int }:
		return int64(r.Len())
	case interface{ Stat() (fs.FileInfo, error) }:
		info, err := r.Stat()
		if err != nil || !info.Mode().IsRegular() {
			return 0
		}
		at := int64(0)
		if s, ok := r.(io.Seeker); ok {
			at, _ = s.Seek(0, io.SeekCurrent)
		}
		return max(0, info.Size()-at)
	}
	return 0
}

// Read reads from the text. If the memory exceeds the bound, it returns the error of checkTotal.
func (m *meter) Read(p []byte) (int, error) {
	n, err := m.src.Read(p)
	m.lineEnd(p[:n])
	m.readBytes += int64(n)
	m.line += float64(n)
	m.parts += float64(bytes.Count(p[:n], []byte{m.separator}))
	if wrong := m.checkTotal(m.heldBytes + lineBytes*m.line + separatorBytes*m.parts); wrong != nil {
		return 0, wrong
	}
	return n, err
}

// addRecord adds the memory of a record with the given number of fields. It returns an error if the
// memory so far plus the remaining bytes of the text exceed the bound. A field takes more memory
// than its characters, so the error comes long before the memory reaches the bound.
func (m *meter) addRecord(fields int) error {
	if m.columns == 0 {
		m.columns = fields
		m.heldBytes += columnBytes * float64(fields)
	} else {
		m.records++
	}
	m.heldBytes += m.line + fieldBytes*float64(fields) + recordBytes
	m.line, m.parts = 0, 0
	if m.records == 0 {
		return nil
	}
	return m.checkTotal(m.heldBytes + float64(max(0, m.size-m.readBytes)))
}

// checkTotal returns an error if the number of bytes exceeds the bound. If the size of the text is
// known, the error names an estimate of the bytes for the whole text.
func (m *meter) checkTotal(byteCount float64) error {
	if m.maxBytes == memory.Unbounded || byteCount <= float64(m.maxBytes) {
		return nil
	}
	by := ""
	if m.size > 0 {
		by = "by its size and "
		byteCount = max(byteCount, m.heldBytes*float64(m.size)/float64(max(1, m.readBytes)))
	}
	return args.Bad("CSV", qpdiff.ErrTooLarge, "cut the file into fewer rows or columns, or raise CSV.MaxBytes",
		"%s, %s", memory.Needs(memory.Bytes(byteCount), m.maxBytes), by+m.describeRead())
}

// describeRead describes the text read so far.
func (m *meter) describeRead() string {
	if m.columns == 0 {
		return fmt.Sprintf("%d bytes of its header line", m.readBytes)
	}
	return fmt.Sprintf("its first %d rows of %d columns", m.records, m.columns)
}
