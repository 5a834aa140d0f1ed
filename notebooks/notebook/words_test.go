package notebook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// notebookWords is the largest number of words that a reader reads in ten minutes, at 200 words a
// minute. Words in code and in folds do not count.
const notebookWords = 2000

func TestNotebooksAreReadInTenMinutes(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 12 {
		t.Fatalf("%d notebooks", len(paths))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var nb struct {
			Cells []struct {
				CellType string `json:"cell_type"`
				Source   notebookText
				Outputs  []struct {
					Data map[string]notebookText
					Text notebookText // printed text
				}
			}
		}
		if err := json.Unmarshal(text, &nb); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		words := 0
		for _, c := range nb.Cells {
			if c.CellType == "markdown" {
				words += c.Source.words()
			}
			for _, o := range c.Outputs {
				words += o.Data["text/markdown"].words() + o.Text.words()
			}
		}
		if words < 500 || words > notebookWords {
			t.Errorf("%s shows %d words, want at most %d: cut, or fold a table", path, words, notebookWords)
		}
	}
}

// Folded text and descriptions of pictures do not count, but the summary of a fold counts.
func TestWordsThatAreSeen(t *testing.T) {
	text := notebookText{"# One two\n", "![not seen](picture.svg)\n", "| three | – |\n| :-- | --: |\n",
		"<details><summary>four:\n five</summary>\n\nnot\nseen\n</details> six\n<details>\n<summary>seven</summary>not</details>"}
	if n := text.words(); n != 7 {
		t.Errorf("%d words, want 7", n)
	}
}

// notebookText is a text in the JSON of a notebook, which is a string or a list of strings.
type notebookText []string

func (l *notebookText) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, (*[]string)(l)) == nil {
		return nil
	}
	*l = make(notebookText, 1)
	return json.Unmarshal(b, &(*l)[0])
}

// unseenText matches the description of a picture, or a fold without its summary.
var unseenText = regexp.MustCompile(`(?s)<details>\s*<summary>(.*?)</summary>.*?</details>|!\[[^\]]*\]\([^)]*\)`)

// words returns the number of words that a reader sees if nothing is unfolded.
func (l notebookText) words() int {
	n := 0
	for _, w := range strings.Fields(unseenText.ReplaceAllString(strings.Join(l, ""), "$1 ")) {
		if strings.Trim(w, "|:-–#*") != "" {
			n++
		}
	}
	return n
}

// Figures in the committed notebooks are pictures with alternative text, because every host shows
// pictures.
func TestFiguresAreShownEverywhere(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join("..", "*.ipynb"))
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		type output struct {
			Data     map[string]notebookText
			Metadata map[string]any
		}
		var file struct{ Cells []struct{ Outputs []output } }
		if err := json.Unmarshal(text, &file); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, c := range file.Cells {
			for k, o := range c.Outputs {
				if strings.Contains(strings.Join(o.Data["text/html"], ""), "<img") {
					t.Errorf("%s has a picture in HTML, which some converters leave out", path)
				}
				if o.Data["image/png"] == nil {
					continue
				}
				found++
				about, _ := o.Metadata["image/png"].(map[string]any)
				if alt, _ := about["alt"].(string); len(alt) < 20 {
					t.Errorf("%s: a picture has the alternative text %q", path, alt)
				}
				if k+1 == len(c.Outputs) || c.Outputs[k+1].Metadata[captionKey] == nil || c.Outputs[k+1].Data["text/markdown"].words() < 5 {
					t.Errorf("%s: a picture has no caption below it", path)
				}
			}
		}
	}
	if found < 25 {
		t.Errorf("%d pictures", found)
	}
}
