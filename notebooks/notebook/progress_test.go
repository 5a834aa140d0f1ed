package notebook

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// At the end, the file has the last report, for any order of the goroutines.
func TestProgressOfTheRunner(t *testing.T) {
	file := filepath.Join(t.TempDir(), "progress")
	t.Setenv(ProgressVar, file)
	report, end := progress()
	var wg sync.WaitGroup
	for i := range 9 {
		wg.Go(func() { report(i+1, 10) })
	}
	wg.Wait()
	report(10, 10)
	end()
	var got [2]int
	if text, err := os.ReadFile(file); err != nil || json.Unmarshal(text, &got) != nil || got != [2]int{10, 10} {
		t.Errorf("%v, %v", got, err)
	}
}

func TestProgressInWords(t *testing.T) {
	for _, c := range []struct {
		done, left int
		took       time.Duration
		want       string
	}{
		{0, 116, time.Hour, "12 of 128"}, {4, 116, time.Second, "12 of 128, about 29 s left"}, {8, 0, time.Hour, "12 of 128"},
		{1, 116, 3 * time.Second, "12 of 128, about 5 min 48 s left"}, {1, 116, 100 * time.Second, "12 of 128, about 3 h 13 min left"},
	} {
		got := progressHTML(12, 128, timeLeft(c.done, c.left, c.took))
		if !strings.HasSuffix(got, "> "+c.want) || !strings.Contains(got, `value="12" max="128"`) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
