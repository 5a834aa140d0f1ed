package table

import (
	"fmt"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/qpdiff"
)

// feature adds column i of the file to the table. A field of the CSV may name it.
func (k *kinds) feature(i int, field string) error {
	name := k.text.header[i]
	column := Column{Name: name, Missing: k.csv.missingRule(name, isFeature)}
	add := func() { k.t.Columns, k.at = append(k.t.Columns, column), append(k.at, i) }
	present, numbers := k.text.scan(i)
	if present == 0 {
		return args.Bad("CSV", qpdiff.ErrDomain, "put it into Ignore", "has no value in column %q", name)
	}
	given, isNumber := k.csv.Numbers[name]
	layout, isDate := k.csv.Dates[name]
	switch {
	case isNumber:
		column.Number = given.clone()
		add()
		return nil // readColumns names a field of another format
	case isDate:
		return k.addDates(i, layout)
	case numbers && field != "CSV.Categorical":
		add()
		return nil
	}
	levels := k.text.levels(i)
	if field != "CSV.Categorical" {
		if found, err := k.dates(i, levels, field == "CSV.Numeric"); found || err != nil {
			return err
		}
		number, err := k.number(i, levels, field == "CSV.Numeric")
		if err != nil {
			return err
		}
		if number != nil {
			column.Number = number
			add()
			return nil
		}
	}
	column.Kind, column.Levels = Categorical, levels
	if len(levels) == present {
		return args.Bad("CSV", qpdiff.ErrDomain, "put an identifier into Ignore, or correct the column",
			"has another text in each of the %d rows with a value of column %q", present, name)
	}
	column.MissingLevel = present < len(k.text.records) // the rule is MissingIsMean
	add()
	return nil
}

// target sets the table's target and classes.
func (k *kinds) target() error {
	c, text, t := k.csv, k.text, k.t
	i := text.at[c.Target]
	if given, ok := c.Numbers[c.Target]; ok {
		t.TargetNumber = given.clone()
		return nil
	}
	var classes []string
	if _, numbers := text.scan(i); c.Positive == "" && numbers {
		return nil
	}
	classes = text.levels(i)
	if c.Positive == "" {
		number, err := k.number(i, classes, false)
		if err != nil {
			return err
		}
		if number != nil {
			t.TargetNumber = number
			return nil
		}
	}
	switch n := len(classes); {
	case n == 1:
		return args.Bad("CSV.Target", qpdiff.ErrDomain, "give examples of another class", "is %q in all rows of column %q", classes[0], c.Target)
	case n > maxClasses:
		return args.Bad("CSV.Target", qpdiff.ErrDomain, fmt.Sprintf("give numbers or at most %d classes", maxClasses),
			"has %d different texts in column %q, first %q in line %d", n, c.Target, text.records[0][i], text.lines[0])
	}
	if c.Positive != "" {
		at := slices.Index(classes, c.Positive)
		switch {
		case at < 0:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(classes)), "is %q, which is no class of column %q", c.Positive, c.Target)
		case len(classes) > 2:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, "leave it empty, and use Table.Binary", "is set for the %d classes %q", len(classes), firstOf(classes))
		case at == 0:
			slices.Reverse(classes)
		}
	}
	t.Classes = classes
	return nil
}
