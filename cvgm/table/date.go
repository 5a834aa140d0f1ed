package table

import (
	"maps"
	"slices"
	"strings"
	"time"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// A DatePart is a part of a date or time.
type DatePart int

const (
	PartDays    DatePart = iota // days since the first date of the table; the time is a fraction of a day
	PartYear                    // the year
	PartMonth                   // the level "01" to "12"
	PartWeekday                 // the level "Monday" to "Sunday"
	PartHour                    // hours since midnight
)

func (p DatePart) String() string { return nameOf(partNames[:], p) }

var partNames = [...]string{"days", "year", "month", "weekday", "hour"}

// A Date describes how a column of the table is made from a column of dates or times in the file.
// The table's column holds one part of the date or time, as written in the file. Time zones are not
// converted.
type Date struct {
	Source string   // the name of the column in the file
	Part   DatePart // the part that the column holds
	Layout string   // the layout of the texts, as in [time.Parse]
	// First is the first date of the table, in UTC. PartDays counts the days from it.
	First time.Time
}

// portable returns the date in the form that predictions need.
func (d *Date) portable() *portable.DateFormat {
	return &portable.DateFormat{Part: portable.DatePart(d.Part), Layout: d.Layout, First: d.First}
}

// numeric reports whether the part is a number.
func (p DatePart) numeric() bool { return p != PartMonth && p != PartWeekday }

// longLayout is the layout of dates in descriptions and messages.
const longLayout = "2 January 2006"

// inWords describes the column's texts.
func (d *Date) inWords() string {
	if !partsOf(d.Layout).date {
		return "times"
	}
	return "dates from " + d.First.Format(longLayout)
}

// equals reports whether d and e give equal columns.
func (d *Date) equals(e *Date) bool {
	if d == nil || e == nil {
		return d == e
	}
	return d.Source == e.Source && d.Part == e.Part && d.Layout == e.Layout && d.First.Equal(e.First)
}

// layoutParts has a field for each part of a date or time. A field is set if the layout contains
// this part.
type layoutParts struct{ date, day, clock bool }

// partsOf returns the parts of a layout.
func partsOf(layout string) (p layoutParts) {
	probe := time.Date(2003, 4, 5, 6, 7, 8, 0, time.UTC)
	if t, ok := portable.ParseDate(layout, probe.Format(layout)); ok {
		p.date = t.Year() == 2003 && t.Month() == 4
		p.day = p.date && t.Day() == 5
		p.clock = t.Hour() == 6
	}
	return p
}

// checkLayout returns an error if a layout has neither a date nor a time.
func checkLayout(layout string) error {
	p := partsOf(layout)
	return args.BadIf(!p.date && !p.clock, "layout", qpdiff.ErrDomain, `write the date 2 January 2006, 15:04:05 in the file's format, as in "2/1/2006"`, "is %q, which has neither year and month nor an hour", layout)
}

// These variables map the shape of a text to its layout. dateLayouts is for dates, clockLayouts for
// times, and zoneLayouts for time zones. In a shape, Y is a number of four digits, n is a number of
// one or two digits, M is the name of a month, and P is AM or PM.
var (
	dateLayouts = map[string][]string{
		"Y-n-n": {"2006-1-2"}, "Y/n/n": {"2006/1/2"}, "Y.n.n": {"2006.1.2"}, "Y-n": {"2006-1"}, "n/Y": {"1/2006"}, "Y-M-n": {"2006-Jan-2"},
		"n/n/Y": {"1/2/2006", "2/1/2006"}, "n.n.Y": {"2.1.2006", "1.2.2006"}, "n-n-Y": {"2-1-2006", "1-2-2006"},
		"n/n/n": {"1/2/06", "2/1/06"}, "n.n.n": {"2.1.06", "1.2.06"}, "n-n-n": {"2-1-06", "1-2-06"},
		"n M Y": {"2 Jan 2006", "2 January 2006"}, "n. M Y": {"2. Jan 2006", "2. January 2006"}, "n-M-Y": {"2-Jan-2006", "2-January-2006"},
		"n M n": {"2 Jan 06", "2 January 06"}, "n-M-n": {"2-Jan-06", "2-January-06"},
		"M n, Y": {"Jan 2, 2006", "January 2, 2006"}, "M n Y": {"Jan 2 2006", "January 2 2006"}, "M Y": {"Jan 2006", "January 2006"},
	}
	clockLayouts = map[string][]string{
		"n:n": {"15:04"}, "n:n:n": {"15:04:05"},
		"n:n P": {"3:04 PM", "3:04 pm"}, "n:n:n P": {"3:04:05 PM", "3:04:05 pm"}, "n:nP": {"3:04PM", "3:04pm"}, "n:n:nP": {"3:04:05PM", "3:04:05pm"},
	}
	zoneLayouts = map[string]string{"Z": "Z07:00", "+n:n": "Z07:00", "-n:n": "Z07:00", "+Y": "-0700", "-Y": "-0700", " +Y": " -0700", " -Y": " -0700", " +n:n": " -07:00", " -n:n": " -07:00"}
)

// shapeOf returns the shape of a text. It returns "" if the text cannot be a date or time.
func shapeOf(text string) string {
	const longest = 40
	if len(text) < 4 || len(text) > longest {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		j := i
		in := func(low, high byte) bool { return j < len(text) && low <= text[j]|0x20 && text[j]|0x20 <= high }
		switch c := text[i]; {
		case '0' <= c && c <= '9':
			for j < len(text) && '0' <= text[j] && text[j] <= '9' {
				j++
			}
			switch n := j - i; {
			case n == 4:
				b.WriteByte('Y')
			case n <= 2:
				b.WriteByte('n')
			default:
				return ""
			}
			// A shape does not include a fraction of a second, because every layout with seconds
			// also parses a fraction.
			if at := b.String(); strings.HasSuffix(at, "n:n:n") && j+1 < len(text) && text[j] == '.' && '0' <= text[j+1] && text[j+1] <= '9' {
				for j++; j < len(text) && '0' <= text[j] && text[j] <= '9'; {
					j++
				}
			}
		case in('a', 'z'):
			for in('a', 'z') {
				j++
			}
			switch word := text[i:j]; {
			case word == "T" || word == "Z":
				b.WriteString(word)
			case strings.EqualFold(word, "AM") || strings.EqualFold(word, "PM"):
				b.WriteByte('P')
			case len(word) >= 3:
				b.WriteByte('M')
			default:
				return ""
			}
		case strings.IndexByte("-/.:, +", c) >= 0:
			b.WriteByte(c)
			j++
		default:
			return ""
		}
		i = j
	}
	return b.String()
}

// layoutsOf returns the layouts that may read a text, the more likely ones first.
func layoutsOf(text string) (all []string) {
	shape := shapeOf(text)
	at := strings.Index(shape, "n:")
	if at < 0 {
		return dateLayouts[shape]
	}
	date, clock := shape[:at], shape[at:]
	between := ""
	if date != "" {
		bare := strings.TrimSuffix(strings.TrimRight(date, " T"), ",")
		if between = date[len(bare):]; between != " " && between != "T" && between != ", " {
			return nil
		}
		date = bare
	}
	zone := ""
	if clockLayouts[clock] == nil {
		for _, z := range slices.Sorted(maps.Keys(zoneLayouts)) {
			if bare, ok := strings.CutSuffix(clock, z); ok && clockLayouts[bare] != nil {
				clock, zone = bare, zoneLayouts[z]
				break
			}
		}
	}
	dates := dateLayouts[date]
	if date == "" && zone == "" {
		dates = []string{""}
	}
	for _, d := range dates {
		for _, c := range clockLayouts[clock] {
			all = append(all, d+between+c+zone)
		}
	}
	return all
}

// datesOf finds the date layouts that parse the largest number of the texts in levels. It returns
// these layouts, the more likely ones first, and how many texts each of them parses.
func datesOf(levels []string) (layouts []string, reads int) {
	counts := map[string]int{}
	var order []string
	for _, level := range levels {
		for _, layout := range layoutsOf(level) {
			if _, ok := portable.ParseDate(layout, level); ok {
				if counts[layout]++; counts[layout] == 1 {
					order = append(order, layout)
				}
				reads = max(reads, counts[layout])
			}
		}
	}
	for _, layout := range order {
		if counts[layout] == reads {
			layouts = append(layouts, layout)
		}
	}
	return layouts, reads
}

// dayFirst reports whether a layout has the day before the month, both as numbers.
func dayFirst(layout string) bool {
	return strings.HasPrefix(layout, "2/1") || strings.HasPrefix(layout, "2.1") || strings.HasPrefix(layout, "2-1")
}

// monthFirst reports whether a layout has the month before the day, both as numbers.
func monthFirst(layout string) bool {
	return strings.HasPrefix(layout, "1/2") || strings.HasPrefix(layout, "1.2") || strings.HasPrefix(layout, "1-2")
}
