package portable

import "time"

// A DatePart is a part of a date.
type DatePart int

// The parts of a date.
const (
	PartDays DatePart = iota
	PartYear
	PartMonth
	PartWeekday
	PartHour
)

// A DateFormat describes how a column is made from dates or times.
type DateFormat struct {
	Part   DatePart
	Layout string
	First  time.Time // from which days are counted
}

// ParseDate returns the date and time as written, in UTC.
func ParseDate(layout, field string) (time.Time, bool) {
	t, err := time.Parse(layout, field)
	if err != nil {
		return t, false
	}
	y, m, d := t.Date()
	h, min, s := t.Clock()
	return time.Date(y, m, d, h, min, s, t.Nanosecond(), time.UTC), true
}

// Pattern returns the layout.
func (d *DateFormat) Pattern() string { return d.Layout }

// Read returns the part of a date that d describes: a level for a month or weekday, and a number
// for any other part.
func (d *DateFormat) Read(field string) (number float64, level string, ok bool) {
	t, ok := ParseDate(d.Layout, field)
	switch {
	case !ok:
	case d.Part == PartMonth || d.Part == PartWeekday:
		level = d.Level(t)
	default:
		number = d.number(t)
	}
	return number, level, ok
}

// number returns the number of a numeric part.
func (d *DateFormat) number(t time.Time) float64 {
	switch d.Part {
	case PartYear:
		return float64(t.Year())
	case PartHour:
		return seconds(t, t.Truncate(24*time.Hour)) / 3600
	}
	return seconds(t, d.First) / 86400
}

// seconds returns the seconds between two times. A [time.Duration] cannot exceed 292 years.
func seconds(t, from time.Time) float64 {
	s := float64(t.Unix() - from.Unix())
	if ns := t.Nanosecond() - from.Nanosecond(); ns != 0 {
		s += float64(float64(ns) / 1e9)
	}
	return s
}

// Level returns the level of a categorical part.
func (d *DateFormat) Level(t time.Time) string {
	if d.Part == PartMonth {
		return t.Format("01")
	}
	return t.Weekday().String()
}
