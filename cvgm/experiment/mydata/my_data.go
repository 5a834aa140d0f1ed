// Package mydata holds the experiment [MyDataParams] of notebook my_data, which tunes a model on
// the rows of a CSV file.
package mydata

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"cvgm/cvgm/experiment"
	"cvgm/cvgm/table"
	"cvgm/qpdiff"
)

// MyDataParams are the parameters of an experiment that tunes a model on a CSV file.
type MyDataParams struct {
	File          string   `help:"CSV file with a header line; a relative path starts at the root of the checkout; empty: 80 made-up houses" range:"text"`
	Target        string   `help:"column to predict; empty: the last one" range:"text"`
	Learner       string   `help:"learner; auto: logistic regression for classes (of three and more one multinomial model), elastic net for numbers" range:"{auto,elastic_net,huber,logistic,sparse_logistic,svm,kernel_svm,kernel_ridge}" small:"{auto,huber,kernel_ridge}"`
	Positive      string   `help:"class of two that is predicted as +1; makes classes of a target of numbers; empty: the last in sorted order" range:"text"`
	Ignore        []string `help:"columns to leave out of the features, such as identifiers" range:"text"`
	Numeric       []string `help:"columns of numbers, if they are taken for another kind; a target of 0 and 1 is then a number" range:"text"`
	Categorical   []string `help:"columns whose numbers or texts are levels, all of which are kept; a target of numbers then has classes" range:"text"`
	Numbers       []string `help:"formats of columns of numbers: price=comma € has decimal commas and a unit, weight=kg g:0.001 has two units" range:"text"`
	Dates         []string `help:"formats of columns of dates, by the date 2 January 2006, 15:04:05: sold=02/01/2006" range:"text"`
	Weights       string   `help:"column with the weight of each row, a number of 0 or more; empty: all rows count alike" range:"text"`
	Group         string   `help:"column whose equal values stay together in all folds; empty: none" range:"text"`
	Missing       string   `help:"what a missing value does: the mean or a level of its own replaces it, or it drops the row, or it is an error" range:"{mean,drop,error}" small:"{mean,drop}"`
	MissingTexts  []string `help:"texts of a missing value, in upper or lower case; empty: an empty field, NA, N/A, NaN, null and ?" range:"text"`
	Comma         string   `help:"character between fields, or the word tab; empty: a comma, semicolon, tab or |, by the first lines" range:"text"`
	Threshold     float64  `help:"decision value above which a row is called Positive in the confusion; 0: the default, for log odds the probability 1/2" range:"(-∞,∞)"`
	OuterFolds    int      `help:"outer folds of the nested estimate of the risk; 0: no estimate" range:"[0,∞)" small:"[2,3]"`
	Seed          uint64   `help:"seed of the folds" range:"[0,∞)" small:"[0,1000]"`
	Seconds       float64  `help:"time for each model's search and nested estimate; 0: no bound" unit:"s" range:"[0,1e9]"`
	CurvePoints   int      `help:"points of each CV curve, and of each side of a decision boundary's grid" range:"[2,∞)" small:"[2,8]"`
	SurfacePoints int      `help:"points of the CV loss's surface per hyperparameter" range:"[2,∞)" small:"[2,5]"`

	// Digest is the SHA-256 of the file's content. Read sets it. Results of files with different
	// contents thus have different keys.
	Digest string `json:",omitempty" param:"-"`

	content *myContent
}

// myContent is the content of the file after Read.
type myContent struct {
	text  string
	table *table.Table
}

// DefaultMyData returns the default parameters.
func DefaultMyData() MyDataParams {
	return MyDataParams{Learner: "auto", Missing: "mean", OuterFolds: 5, CurvePoints: 41, SurfacePoints: 15}
}

func (MyDataParams) Defaults() any { return DefaultMyData() }

func (p MyDataParams) Check() error {
	if p.OuterFolds == 1 {
		return experiment.Invalid("OuterFolds", p.OuterFolds, "use at least 2, or 0 for no estimate")
	}
	if _, ok := p.comma(); !ok {
		return experiment.Invalid("Comma", fmt.Sprintf("%q", p.Comma), "use one character other than a quote, or tab")
	}
	_, err := p.csv()
	return err
}

// csv returns the settings for reading the file. They have no target if Target is empty.
func (p MyDataParams) csv() (c table.CSV, err error) {
	comma, _ := p.comma()
	c = table.CSV{Target: p.Target, Positive: p.Positive, Ignore: withoutRepeats(p.Ignore), Group: p.Group, Weights: p.Weights, Comma: comma,
		Numeric: withoutRepeats(p.Numeric), Categorical: withoutRepeats(p.Categorical), MissingTexts: p.MissingTexts,
		Missing: map[string]table.MissingRule{"mean": table.MissingIsMean, "drop": table.MissingDropsRow, "error": table.MissingIsError}[p.Missing]}
	if c.Numbers, err = columnFormats("Numbers", p.Numbers, "price=comma € or weight=kg g:0.001", numberFormat); err != nil {
		return c, err
	}
	c.Dates, err = columnFormats("Dates", p.Dates, "sold=02/01/2006", dateFormat)
	return c, err
}

// comma returns the character between fields, or 0 if it is to be found from the first lines of the
// file.
func (p MyDataParams) comma() (rune, bool) {
	switch p.Comma {
	case "":
		return 0, true
	case "tab":
		return '\t', true
	}
	r, size := utf8.DecodeRuneInString(p.Comma)
	return r, size > 0 && size == len(p.Comma) && !strings.ContainsRune("\"\r\n\uFFFD", r)
}

// Name returns the name of the data for titles. It is the name of the file without its folder.
func (p MyDataParams) Name() string {
	if p.File == "" {
		return "made-up houses"
	}
	return filepath.Base(p.File)
}

// Path returns the path of File, relative to the folder root of the checkout. It returns "" for the
// made-up houses.
func (p MyDataParams) Path(root string) string {
	if p.File == "" || filepath.IsAbs(p.File) {
		return p.File
	}
	return filepath.Join(root, p.File)
}

// Read reads the file. The returned parameters include the content and the digest of the file,
// which Run uses. A relative path begins in root. An error has one line. It names the parameter to
// change, or the line and column of the file.
func (p MyDataParams) Read(root string) (MyDataParams, error) {
	if err := experiment.Check(&p); err != nil {
		return p, err
	}
	text := Houses()
	if at := p.Path(root); at != "" {
		read, err := os.ReadFile(at)
		if err != nil {
			return p, unreadable(p.File, at, err)
		}
		text = string(read)
	}
	sum := sha256.Sum256([]byte(text))
	digest := hex.EncodeToString(sum[:])
	if p.Digest != "" && p.Digest != digest {
		return p, experiment.Invalid("File", fmt.Sprintf("%q, whose content has changed since its digest was taken", p.File), "run it again")
	}
	table, err := p.table(text)
	if err != nil {
		return p, err
	}
	p.Digest, p.content = digest, &myContent{text, table}
	return p, nil
}

// Scaled returns p with a numeric target multiplied by a factor, and with another digest. p must
// come from Read. Scaled is used to measure the influence of rounding.
func (p MyDataParams) Scaled(factor float64) MyDataParams {
	scaled := *p.content.table
	if len(scaled.Classes) == 0 {
		scaled.Y = slices.Clone(scaled.Y)
		for i := range scaled.Y {
			scaled.Y[i] *= factor
		}
	}
	p.Digest += fmt.Sprintf(" × %v", factor)
	p.content = &myContent{p.content.text, &scaled}
	return p
}

// unreadable returns the error for a file that cannot be read.
func unreadable(file, at string, err error) error {
	var cause *fs.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	remedy := "give the path of a CSV file, absolute or from the checkout"
	if strings.HasPrefix(file, "~") {
		remedy += ", with the name of your folder in place of ~"
	}
	return &qpdiff.ArgError{Arg: "File", Why: err, Problem: fmt.Sprintf("is %q", at), Remedy: remedy}
}

// table reads the table from the text.
func (p MyDataParams) table(text string) (*table.Table, error) {
	c, err := p.csv()
	if err != nil {
		return nil, err
	}
	header, err := c.Header(strings.NewReader(text))
	if err != nil {
		return nil, inParameters(err)
	}
	if c.Target == "" {
		c.Target = header[len(header)-1]
	}
	if c.Missing == table.MissingIsMean {
		c.MissingIn = map[string]table.MissingRule{}
		for _, name := range []string{c.Target, c.Group, c.Weights} {
			if name != "" {
				c.MissingIn[name] = table.MissingDropsRow
			}
		}
	}
	table, err := c.Read(strings.NewReader(text))
	if err != nil {
		return nil, inParameters(err)
	}
	if rows, _ := table.Dims(); rows < 4 {
		return nil, experiment.Invalid("File", fmt.Sprintf("%q with %d usable rows", p.Name(), rows), "give 4 at least")
	}
	number := len(table.Classes) == 0
	switch p.Learner {
	case "logistic", "sparse_logistic", "svm", "kernel_svm":
		if number {
			return nil, experiment.Invalid("Learner", p.Learner, fmt.Sprintf("use elastic_net, huber or kernel_ridge: the target %q is a number; or name a class of it in Positive", table.Target))
		}
	}
	return table, nil
}
