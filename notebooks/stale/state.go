package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"cvgm/notebooks/source"
)

// The variable runner lists the files that run the cells and write the notebook. The other files
// that ./reproduce.sh uses do not affect outputs.
var runner = []string{"notebooks/runner/requirements.txt", "notebooks/runner/environment.py", "notebooks/runner/execute.py", "notebooks/runner/layout.py"}

const extension = ".ipynb" // of notebooks

// provenanceFile is in the folder of a notebook's outputs.
const provenanceFile = "provenance.json"

// A state records whether the outputs of a notebook agree with its inputs.
type state struct {
	Notebook string   `json:"notebook"`
	Folder   string   `json:"folder"`
	Reasons  []string `json:"reasons"` // reasons to run the notebook; there are none if the outputs agree with the inputs
	// Rewrite is true if only the text outside of the code cells, or the layout of the file, has
	// changed since the run. The notebook then need not run again. It only has to be written in its
	// plain form.
	Rewrite bool          `json:"rewrite"`
	Inputs  source.Inputs `json:"inputs"`
	// Changed lists the functions whose results the last run used, and whose source has changed
	// since. A run computes these results again, even if the results of the last run are still in
	// the store.
	Changed []string `json:"changed"`
}

func (s *state) String() string {
	name := strings.TrimSuffix(filepath.Base(s.Notebook), extension)
	switch {
	case len(s.Reasons) > 0:
		return name + ": would run, because\n  " + strings.Join(s.Reasons, "\n  ") + "\n"
	case s.Rewrite:
		return name + ": would be written in its plain form; its text or its layout was edited\n"
	}
	return name + ": is up to date\n"
}

// provenance is the content of provenance.json.
type provenance struct {
	Notebook string
	Inputs   map[string]string
	Outputs  map[string]string // hashes, by names relative to the root
	Cells    string            // digest of the code cells in the notebook that the run wrote
	Files    map[string]string // hashes of the files that parameters name; each key is a path

	// Title is the name of the function as runtime.Func gives it. Source is the hash of the
	// function's inputs.
	Results []struct{ Function, Key, Title, Source string }

	// Only ./reproduce.sh reads the following fields.
	Overrides, Captions, Alts map[string]string
}

// readProvenance reads a provenance file. If the file is missing, the error is fs.ErrNotExist. If
// the file is damaged, there is a different error.
func readProvenance(file string) (p provenance, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return p, err
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return p, err
	}
	for _, table := range []map[string]string{p.Inputs, p.Outputs, p.Files, p.Overrides, p.Captions, p.Alts} {
		if table == nil {
			return p, errors.New("a table is missing")
		}
	}
	return p, nil
}

// stateOf reports whether a notebook has to run again. The reasons are:
//
//   - The notebook has never run, or the record of its inputs is damaged.
//   - An input has changed. Inputs are the code cells, the declarations and files that they reach,
//     the versions of Go and of modules, and files of the runner.
//   - A file that a parameter names has changed.
//   - Outputs have been edited or are missing.
//
// If only text or layout has changed, the notebook only has to be written again.
func stateOf(root string, module *source.Module, notebook, folder string) (*state, error) {
	text, err := os.ReadFile(notebook)
	if err != nil {
		return nil, fmt.Errorf("%w; give a file, such as notebooks/01_elastic_net.ipynb", err)
	}
	cells := codeCells(text)
	var sources []string
	for _, c := range cells {
		sources = append(sources, string(c.Source))
	}
	s := &state{Notebook: notebook, Folder: folder, Reasons: []string{}, Changed: []string{}, Inputs: module.Cells(sources)}
	for _, name := range runner {
		if text, err := os.ReadFile(filepath.Join(root, name)); err == nil {
			s.Inputs[name] = hash(text)
		}
	}
	before, err := readProvenance(filepath.Join(folder, provenanceFile))
	if errors.Is(err, fs.ErrNotExist) {
		s.Reasons = []string{"it never ran here"}
		return s, nil
	} else if err != nil {
		s.Reasons = []string{relativeName(root, filepath.Join(folder, provenanceFile)) + " is damaged"}
		return s, nil
	}
	for _, r := range before.Results {
		if now, err := module.Function(r.Title); err == nil && now != r.Source {
			s.Changed = append(s.Changed, r.Function)
		}
	}
	outputs, err := outputs(root, notebook, folder, before)
	if err != nil {
		return nil, err
	}
	s.Reasons = append(s.Reasons, changedInputs(before.Inputs, s.Inputs)...)
	for _, name := range slices.Sorted(maps.Keys(before.Files)) {
		if text, err := os.ReadFile(name); err != nil {
			s.Reasons = append(s.Reasons, name+" is gone")
		} else if hash(text) != before.Files[name] {
			s.Reasons = append(s.Reasons, name+" changed")
		}
	}
	written := relativeName(root, notebook)
	if was, is := before.Outputs[written], outputs[written]; was != is && before.Cells == digest(cells) {
		s.Rewrite = true
		outputs[written] = was
	}
	changes := differing(before.Outputs, outputs)
	for i, name := range changes {
		changes[i] += change(before.Outputs[name], outputs[name], "not its own", "missing", "was edited")
	}
	if len(changes) > 0 {
		s.Reasons = append(s.Reasons, listing("outputs", changes))
	}
	return s, nil
}

// A cell is a cell of a notebook.
type cell struct {
	Type    string `json:"cell_type"`
	Source  lines
	Count   any `json:"execution_count"`
	Outputs any
}

// codeCells returns the code cells of a notebook. If the text is not a notebook, the whole text is
// one cell.
func codeCells(text []byte) []cell {
	var notebook struct{ Cells []cell }
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // numbers keep their digits
	if d.Decode(&notebook) != nil {
		return []cell{{Source: lines(text)}}
	}
	return slices.DeleteFunc(notebook.Cells, func(c cell) bool { return c.Type != "code" })
}

// digest returns a digest of code cells with their outputs. ./reproduce.sh computes the same
// digest.
func digest(cells []cell) string {
	parts := [][]any{}
	for _, c := range cells {
		parts = append(parts, []any{c.Source, c.Count, c.Outputs})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(parts) // decoded values can always be encoded
	return hash(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}

// lines is a text in the JSON of a notebook. There it is a string or a list of strings.
type lines string

func (l *lines) UnmarshalJSON(text []byte) error {
	var list []string
	if err := json.Unmarshal(text, &list); err != nil {
		return json.Unmarshal(text, (*string)(l))
	}
	*l = lines(strings.Join(list, ""))
	return nil
}

// outputs returns a map from file names to hashes, for the files in the output folder of a
// notebook. The argument before is the provenance of the last run. If that run wrote the notebook,
// the result also has the hash of the notebook.
func outputs(root, notebook, folder string, before provenance) (map[string]string, error) {
	found := map[string]string{}
	add := func(file string) error {
		text, err := os.ReadFile(file)
		if err == nil {
			found[relativeName(root, file)] = hash(text)
		}
		return err
	}
	if _, is := before.Outputs[relativeName(root, notebook)]; is {
		if err := add(notebook); err != nil {
			return nil, err
		}
	}
	err := filepath.WalkDir(folder, func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() || file == filepath.Join(folder, provenanceFile):
			return nil
		}
		return add(file)
	})
	return found, err
}

// changedInputs returns sentences that describe the changed inputs, by folder.
func changedInputs(before, now map[string]string) (reasons []string) {
	folders := map[string][]string{}
	for _, name := range differing(before, now) {
		was, is := before[name], now[name]
		folder, file := path.Split(name)
		switch {
		case name == "code cells":
			reasons = append(reasons, "its code cells changed")
		case folder == "" || strings.HasPrefix(name, "module "):
			reasons = append(reasons, fmt.Sprintf("%s is %s, was %s", name, cmp.Or(is, "absent"), cmp.Or(was, "absent")))
		default:
			folders[folder] = append(folders[folder], file+change(was, is, "new", "gone", "changed"))
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		reasons = append(reasons, listing(strings.TrimSuffix(folder, "/"), folders[folder]))
	}
	return reasons
}

// differing returns the keys with different values, in sorted order.
func differing(before, now map[string]string) []string {
	all := maps.Clone(before)
	maps.Copy(all, now)
	return slices.DeleteFunc(slices.Sorted(maps.Keys(all)), func(name string) bool { return before[name] == now[name] })
}

func change(was, is, added, gone, changed string) string {
	switch {
	case was == "":
		return " is " + added
	case is == "":
		return " is " + gone
	}
	return " " + changed
}

// listing returns one line: the title, and the first few of the entries.
func listing(title string, entries []string) string {
	const most = 3
	more := ""
	if n := len(entries); n > most {
		entries, more = entries[:most], fmt.Sprintf(" and %d more", n-most)
	}
	return title + ": " + strings.Join(entries, ", ") + more
}

// relativeName returns the name of a file relative to the root. The name has slashes on every
// system.
func relativeName(root, file string) string {
	name, err := filepath.Rel(root, file)
	if err != nil {
		return file
	}
	return filepath.ToSlash(name)
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
