package notebook

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"cvgm/notebooks/source"
)

// Reset replaces working copies of notebooks by their originals, as ./reproduce.sh reset does. The
// argument names selects the notebooks. Reset keeps the replaced files. Without names, it prints
// one line and replaces nothing. An unknown name ends the cell.
//
//	notebook.Reset("02_rings")
func Reset(names ...string) {
	if len(names) == 0 {
		fmt.Println("No copy was replaced: name one.")
		return
	}
	cmd := exec.Command(filepath.Join(Must(source.Root()), "reproduce.sh"), append([]string{"reset"}, names...)...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		os.Exit(1) // the command has printed the reason
	}
	Check(err)
	fmt.Println("Where it is open: File, Reload Notebook from Disk.")
}
