package notebook

import (
	"fmt"
	"os"

	"cvgm/cvgm/experiment/mydata"
	"cvgm/notebooks/source"
)

// Read reads the CSV file p.File, for [Compute]. A relative path begins at the root of the
// checkout. The key of the result depends on a digest of the file. If the file changes, the result
// is thus computed again, and ./reproduce.sh runs the notebook again. If TwinVar is set, Read
// multiplies a numeric target by 1 + 2⁻⁴⁰. If the file or a column has an error, the cell ends and
// prints the error in one line.
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
		err = fmt.Errorf("-p: %w", err) // ./reproduce.sh recognises the error by this prefix
	}
	if at := p.Path(root); err == nil && at != "" {
		err = record(map[string]any{"file": at, "sha256": read.Digest})
	}
	return read, err
}
