// Stale lists the notebooks with stale outputs, and the reasons.
//
//	go run ./notebooks/stale [-json] [NOTEBOOK[=FOLDER] …]
//
// NOTEBOOK is a file such as notebooks/01_elastic_net.ipynb. Without this argument, Stale examines
// all notebooks that git tracks. Without git, it examines all notebooks except scratch notebooks. A
// scratch notebook has a name from JupyterLab, such as Untitled1. FOLDER is the folder with the
// outputs of the notebook. The default is a folder such as figures/out/01_elastic_net. With -json,
// the output also lists the inputs of each notebook. After a run, ./reproduce.sh writes inputs in
// the same form to FOLDER/provenance.json.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

	"cvgm/notebooks/source"
)

const usage = `usage: go run ./notebooks/stale [-json] [NOTEBOOK[=FOLDER] …]
Lists the notebooks whose outputs are stale, with the reasons.
NOTEBOOK is a file, notebooks/01_elastic_net.ipynb; without any, all are examined.
FOLDER holds its outputs: figures/out/01_elastic_net unless stated.`

func main() {
	log.SetFlags(0)
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), usage)
		flag.PrintDefaults()
	}
	asJSON := flag.Bool("json", false, "print states, as JSON, instead of words")
	flag.Parse()
	root, err := source.Root()
	if err != nil {
		log.Fatal(err)
	}
	states, err := examine(root, flag.Args())
	if err != nil {
		log.Fatal(err)
	}
	if *asJSON {
		if err := json.NewEncoder(os.Stdout).Encode(states); err != nil {
			log.Fatal(err)
		}
		return
	}
	for _, s := range states {
		fmt.Print(s)
	}
}

// examine returns the states of notebooks in a checkout, in the order of the notebooks. The
// argument root is the root of the checkout.
func examine(root string, notebooks []string) ([]*state, error) {
	if len(notebooks) == 0 {
		found, err := source.Experiments(root)
		if err != nil {
			return nil, err
		}
		notebooks = found
	}
	module, err := source.Open(root)
	if err != nil {
		return nil, err
	}
	states := make([]*state, len(notebooks))
	for i, argument := range notebooks {
		stem, folder, stated := strings.Cut(argument, extension+"=") // folders may contain an equals sign
		if !stated {
			stem = strings.TrimSuffix(argument, extension)
			folder = filepath.Join(root, "figures", "out", filepath.Base(stem))
		}
		if states[i], err = stateOf(root, module, stem+extension, folder); err != nil {
			return nil, err
		}
	}
	return states, nil
}
