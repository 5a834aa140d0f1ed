package notebook

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
)

// record appends a line to the file of RecordVar.
func record(line map[string]any) error {
	name := os.Getenv(RecordVar)
	if name == "" {
		return nil
	}
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// warn prints or records a warning. It does not end the cell.
func warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if os.Getenv(RecordVar) == "" || record(map[string]any{"note": text}) != nil {
		fmt.Fprintln(os.Stderr, text)
	}
}
