package notebook

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cvgm/notebooks/source"
)

// These constants are names of environment variables. Jupyter's server sets sessionVar to the path
// of the notebook. GoNB sets kernelFolderVar to a folder, which is removed when the kernel ends.
const (
	sessionVar      = "JPY_SESSION_NAME"
	kernelFolderVar = "GONB_TMP_DIR"
)

// NoteCopy prints a note if the notebook is a copy and its original has changed since the copy was
// made. It prints the note once for each kernel. Params and Compute call NoteCopy.
var NoteCopy = sync.OnceFunc(func() {
	session := os.Getenv(sessionVar)
	if session == "" {
		return
	}
	root, err := source.Root()
	if err != nil {
		return
	}
	original := newerOriginal(root, session)
	if original == "" {
		return
	}
	mark := filepath.Join(os.Getenv(kernelFolderVar), "cvgm-copy")
	if err := os.Mkdir(mark, 0o700); os.Getenv(kernelFolderVar) == "" || errors.Is(err, fs.ErrExist) {
		return
	}
	name := strings.TrimSuffix(original, filepath.Ext(original))
	fmt.Printf("This copy is older than its original: ./reproduce.sh reset %s replaces it and keeps it in copies/replaced.\n", name)
})

// newerOriginal returns the file name of the original if the cells of the original have changed
// since the copy was made. Otherwise it returns "". The argument file is the copy, and root is the
// root of the checkout.
func newerOriginal(root, file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	var of struct {
		Metadata struct {
			Copy struct{ Original, Digest string } `json:"cvgm_copy"`
		}
	}
	if json.Unmarshal(text, &of) != nil {
		return ""
	}
	name := of.Metadata.Copy.Original
	if name == "" || name != filepath.Base(name) {
		return ""
	}
	text, err = os.ReadFile(filepath.Join(root, "notebooks", name))
	if err != nil {
		return ""
	}
	if now, err := cellsDigest(text); err != nil || now == of.Metadata.Copy.Digest {
		return ""
	}
	return name
}

// cellsDigest returns a digest of a notebook's cells: of their types and their sources.
// ./reproduce.sh stores this digest in a copy.
func cellsDigest(notebook []byte) (string, error) {
	var content struct {
		Cells []struct {
			Type   string `json:"cell_type"`
			Source any
		}
	}
	if err := json.Unmarshal(notebook, &content); err != nil {
		return "", err
	}
	cells := [][2]string{}
	for _, c := range content.Cells {
		text, _ := c.Source.(string)
		if lines, is := c.Source.([]any); is {
			for _, line := range lines {
				s, _ := line.(string)
				text += s
			}
		}
		cells = append(cells, [2]string{c.Type, text})
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(cells); err != nil {
		return "", err
	}
	// Python does not escape these two characters.
	plain := strings.NewReplacer(`\\`, `\\`, `\u2028`, "\u2028", `\u2029`, "\u2029").Replace(strings.TrimSuffix(b.String(), "\n"))
	sum := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(sum[:]), nil
}
