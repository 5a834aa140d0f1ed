package table

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"cvgm/cvgm/internal/args"
	"cvgm/cvgm/internal/portable"
	"cvgm/qpdiff"
)

// target sets the table's target and classes.
func (k *kinds) target() error {
	c, text, t := k.csv, k.text, k.t
	i := text.at[c.Target]
	if given, ok := c.Numbers[c.Target]; ok {
		t.TargetNumber = given.clone()
		return nil
	}
	number, levels := slices.Contains(c.Numeric, c.Target), slices.Contains(c.Categorical, c.Target)
	given := c.Positive != "" || levels
	if number && given {
		return args.Bad("CSV.Numeric", qpdiff.ErrDomain, "name it once, and leave Positive empty", "names the target %q, which CSV.Positive or Categorical makes classes", c.Target)
	}
	_, numbers := text.countNumbers(i)
	if numbers && !given {
		if !number {
			k.binary(i)
		}
		return nil
	}
	classes := text.levels(i)
	if !given {
		number, err := k.numberFormat(i, classes, number)
		if err != nil {
			return err
		}
		if number != nil {
			t.TargetNumber = number
			return nil
		}
	}
	if !levels {
		classes = k.joinSpellings(i, classes, numbers)
	}
	return k.setClasses(i, classes)
}

// setClasses sets the classes of the table. The parameter classes holds the different texts of the
// target, which is column i.
func (k *kinds) setClasses(i int, classes []string) error {
	c, text := k.csv, k.text
	switch n := len(classes); {
	case n == 1:
		return args.Bad("CSV.Target", qpdiff.ErrDomain, "give examples of another class", "is %q in all rows of column %q", classes[0], c.Target)
	case n > maxClasses && !slices.Contains(c.Categorical, c.Target):
		return args.Bad("CSV.Target", qpdiff.ErrDomain, fmt.Sprintf("give numbers or at most %d classes, or name the target in CSV.Categorical", maxClasses),
			"has %d different texts in column %q, first %q in line %d", n, c.Target, text.records[0][i], text.lines[0])
	}
	if c.Positive != "" {
		at := k.t.classIndex(classes, c.Positive)
		switch {
		case at < 0:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, fmt.Sprintf("name one of %q", firstOf(classes)), "is %q, which is not a class of column %q", c.Positive, c.Target)
		case len(classes) > 2:
			return args.Bad("CSV.Positive", qpdiff.ErrDomain, "leave it empty, and use Table.Binary", "is set for the %d classes %q", len(classes), firstOf(classes))
		case at == 0:
			slices.Reverse(classes)
		}
	}
	k.t.Classes = classes
	return nil
}

// classIndex returns the index of the class that a field denotes, or −1. A field denotes the class
// with the same text. If ignoreCase is set, the case of letters may differ. Otherwise, if there are
// two classes, the field may write the number of the class in another way: 1.0 denotes the class 1.
func (t *Table) classIndex(classes []string, field string) int {
	if at := slices.Index(classes, field); at >= 0 {
		return at
	}
	if t.ignoreCase {
		return portable.IndexFold(classes, field)
	}
	v, ok := number(field)
	if !ok || len(classes) != 2 || t.restClass != "" {
		return -1
	}
	return slices.IndexFunc(classes, func(class string) bool { w, ok := number(class); return ok && v == w })
}

// joinSpellings joins classes: if all are numbers, classes with the same number, and otherwise
// classes that differ only in upper and lower case. It writes the joined classes into the records,
// and returns the classes in sorted order. After joining by case, the order ignores upper and lower
// case.
func (k *kinds) joinSpellings(i int, classes []string, numbers bool) []string {
	key := foldKey
	if numbers {
		key = numberKey
	}
	joinedClasses, examples := k.joinTexts(i, classes, key)
	if examples == nil {
		return classes
	}
	k.t.ignoreCase = !numbers
	slices.SortFunc(joinedClasses, func(a, b string) int { return cmp.Compare(key(a), key(b)) })
	differ := "differ by the case of letters alone"
	if numbers {
		differ = "are one number"
	}
	without := ""
	if k.csv.Positive != "" {
		without = "; without CSV.Positive, they can be several classes"
	}
	k.addDoubt(k.t.Target, "CSV.Categorical", "The target %q has texts that %s, and are one class: %s%s.", k.t.Target, differ, examples, without)
	return joinedClasses
}

// numberKey returns a text that all texts of the same number share.
func numberKey(field string) string {
	v, _ := number(field)
	return fmt.Sprint(v + 0) // 0 for −0
}

// binary makes the numbers of a target its classes if they are 0 and 1, or −1 and 1. The first
// class is the lower number. Other targets remain numbers.
func (k *kinds) binary(i int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, record := range k.text.records {
		v, _ := number(record[i])
		v += 0 // 0 for −0
		switch {
		case low > high:
			low, high = v, v
		case v != low && v != high && low < high:
			return // a third value
		default:
			low, high = min(low, v), max(high, v)
		}
	}
	if high != 1 || low != 0 && low != -1 {
		return
	}
	k.addNote(k.t.Target, "CSV.Numeric", "The target %q holds %v and %v alone, which are classes.", k.t.Target, low, high)
	classes := k.joinSpellings(i, k.text.levels(i), true)
	if v, _ := number(classes[0]); v == high {
		slices.Reverse(classes)
	}
	k.t.Classes = classes
}

// twoNumbers adds a note on a numeric target that has three or more rows but only two different
// numbers, because they may be the codes of classes.
func (k *kinds) twoNumbers() {
	t := k.t
	_, given := k.csv.Numbers[t.Target]
	if len(t.Classes) > 0 || given || slices.Contains(k.csv.Numeric, t.Target) || len(t.Y) < 3 {
		return
	}
	low, high := slices.Min(t.Y), slices.Max(t.Y)
	if low == high || slices.ContainsFunc(t.Y, func(y float64) bool { return y != low && y != high }) {
		return
	}
	field := "CSV.Categorical"
	if t.TargetNumber == nil {
		field = "CSV.Positive" // texts of one number, such as 1 and 1.0, are then one class
	}
	k.addDoubt(t.Target, field, "The target %q holds %v and %v alone, which are read as numbers, not as classes.", t.Target, low, high)
}
