package table

import (
	"slices"
	"strings"
	"time"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// addDateColumns adds the columns that are made from column i if this column holds dates or times.
// If there are more than fewLevels texts, and most but not all of them are dates, it returns an
// error.
func (k *kinds) addDateColumns(i int, levels []string, number bool) (bool, error) {
	layouts, reads := datesOf(levels)
	switch {
	case reads == 0 || number:
		return false, nil
	case reads < len(levels) && 2*reads > len(levels) && len(levels) > fewLevels:
		return false, k.errDate(i, layouts[0])
	case reads < len(levels):
		return false, nil
	}
	name, layout := k.text.header[i], layouts[0]
	otherForm := slices.IndexFunc(layouts, func(l string) bool { return monthFirst(l) != monthFirst(layout) })
	if otherForm >= 0 {
		first, proven := k.monthFirst(i)
		note := k.addNote
		if !proven {
			note = k.addDoubt
			// Files whose fields are not separated by commas usually have decimal commas. They come
			// from countries where the day is first.
			first = monthFirst(layout) && k.text.reader.comma == ','
		}
		if monthFirst(layout) != first {
			layout, layouts[otherForm] = layouts[otherForm], layout
		}
		example := levels[max(0, slices.IndexFunc(levels, func(text string) bool { return longDate(layout, text) != longDate(layouts[otherForm], text) }))]
		note(name, "CSV.Dates", "Column %q holds dates such as %q, which may begin with the day or the month: this one is read as %s in the format %q, not as %s in the format %q.",
			name, example, longDate(layout, example), layout, longDate(layouts[otherForm], example), layouts[otherForm])
	}
	if strings.Contains(layout, "06") && !strings.Contains(layout, "2006") {
		k.noteTwoDigits(name, layout, levels)
	}
	return true, k.addDates(i, layout)
}

// longDate returns the date of a text in the form "2 January 2006". The layout parses the text.
func longDate(layout, text string) string {
	t, _ := portable.ParseDate(layout, text)
	return t.Format(longLayout)
}

// noteTwoDigits adds a note on a column of dates with years of two digits. A year after plannedYear
// probably belongs to the previous century.
func (k *kinds) noteTwoDigits(name, layout string, levels []string) {
	const plannedYear = 2040
	var years []int
	for _, level := range levels {
		t, _ := portable.ParseDate(layout, level)
		years = append(years, t.Year())
	}
	note, first, last := k.addNote, slices.Min(years), slices.Max(years)
	if last > plannedYear {
		note = k.addDoubt
	}
	note(name, "CSV.Ignore", "Column %q holds years of two digits, which are read as 1969 to 2068, here from %d to %d: other years need four digits in the file.", name, first, last)
}

// monthFirst examines the order of day and month in the dates of the file. It ignores the column
// with the index skipped. The result monthLeads is true if a column shows that the month is first.
// The result proven is true if all columns that show an order show the same order, and there is at
// least one.
func (k *kinds) monthFirst(skipped int) (monthLeads, proven bool) {
	var with, without int
	for i := range k.text.header {
		if i == skipped {
			continue
		}
		if r := slices.IndexFunc(k.text.records, func(record []string) bool { return !k.text.reader.isMissing(record[i]) }); r < 0 || len(layoutsOf(k.text.records[r][i])) < 2 {
			continue
		}
		levels := k.text.levels(i)
		layouts, reads := datesOf(levels)
		switch {
		case reads < len(levels):
		case !slices.ContainsFunc(layouts, func(l string) bool { return !monthFirst(l) }):
			with++
		case !slices.ContainsFunc(layouts, func(l string) bool { return !dayFirst(l) }):
			without++
		}
	}
	return with > 0, (with > 0) != (without > 0)
}

// errDate returns the error for the first value of column i that is not a date in the layout.
func (k *kinds) errDate(i int, layout string) error {
	r := slices.IndexFunc(k.text.records, func(record []string) bool {
		_, ok := portable.ParseDate(layout, record[i])
		return !ok && !k.text.reader.isMissing(record[i])
	})
	return args.Bad("CSV", qpdiff.ErrDomain, "put a date there, remove the line, or set CSV.MissingTexts, Dates, Categorical or Ignore",
		"holds %q in line %d, column %q, in place of a date in the format %q of %s", k.text.records[r][i], k.text.lines[r], k.text.header[i], layout, longLayout)
}

// addDates adds columns for days, year, month, weekday and hour, without the parts that are equal
// for all dates of column i. If dates are missing, the column of the month has a level for them.
func (k *kinds) addDates(i int, layout string) error {
	var first time.Time
	has, years, months, weekdays, clocks, lacks := partsOf(layout), map[int]bool{}, map[string]bool{}, map[string]bool{}, map[time.Time]bool{}, false
	month, weekday := &Date{Part: PartMonth}, &Date{Part: PartWeekday}
	for _, record := range k.text.records {
		if k.text.reader.isMissing(record[i]) {
			lacks = true
			continue
		}
		t, ok := portable.ParseDate(layout, record[i])
		if !ok {
			return k.errDate(i, layout)
		}
		if first.IsZero() && len(years) == 0 || t.Before(first) {
			first = t
		}
		years[t.Year()], months[month.portable().Level(t)], weekdays[weekday.portable().Level(t)] = true, true, true
		if clock := time.Unix(t.Unix()%86400, int64(t.Nanosecond())); len(clocks) < 2 {
			clocks[clock] = true
		}
	}
	add := func(part DatePart, levels map[string]bool) {
		c := Column{Name: k.newName(k.text.header[i] + " " + part.String()), Missing: k.csv.missingRule(k.text.header[i], isFeature),
			Date: &Date{Source: k.text.header[i], Part: part, Layout: layout, First: first}}
		if !part.numeric() {
			c.Kind, c.Levels = Categorical, sortedKeys(levels)
			c.MissingLevel = part == PartMonth && lacks
		}
		k.t.Columns, k.at = append(k.t.Columns, c), append(k.at, i)
	}
	if has.date {
		add(PartDays, nil)
	}
	if has.date && len(years) > 1 {
		add(PartYear, nil)
	}
	if has.date && (len(months) > 1 || lacks) {
		add(PartMonth, months)
	}
	if has.day && len(weekdays) > 1 {
		add(PartWeekday, weekdays)
	}
	if has.clock && (len(clocks) > 1 || !has.date) {
		add(PartHour, nil)
	}
	return nil
}
