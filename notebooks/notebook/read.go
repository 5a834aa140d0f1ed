package notebook

import (
	"fmt"
	"os"

	"cvgm/cvgm/experiment/mydata"
	"cvgm/notebooks/source"
)

// Read reads the CSV file p.File, for [Compute]. A relative path starts at the root of the
// checkout. The result's key in the store includes a digest of the file. So a changed file is
// computed anew, and ./reproduce.sh runs the notebook again. Under TwinVar a numeric target is
// multiplied by 1 + 2⁻⁴⁰. An error of the file, or of a column, ends the cell with one line.
//
//	result := notebook.Compute(notebook.Read(p))
func Read(p mydata.MyDataParams) mydata.MyDataParams {
	read, err := readFile(p)
	Check(err)
	if os.Getenv(TwinVar) != "" {
		read = read.Scaled(1 + twinShift)
	}
	return read
}

func readFile(p mydata.MyDataParams) (mydata.MyDataParams, error) {
	root, err := source.Root()
	if err != nil {
		return p, err
	}
	read, err := p.Read(root)
	if err != nil && os.Getenv(ParamsVar) != "" {
		err = fmt.Errorf("-p: %w", err) // ./reproduce.sh recognises it by this
	}
	if at := p.Path(root); err == nil && at != "" {
		err = record(map[string]any{"file": at, "sha256": read.Digest})
	}
	return read, err
}
