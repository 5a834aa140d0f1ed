package notebook

import (
	"encoding/json"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
)

// ProgressVar names the environment variable with a file that tells
// ./reproduce.sh how many cells of the experiment under way are done.
const ProgressVar = "CVGM_PROGRESS"

// kernelVar is set by GoNB where a front end is attached.
const kernelVar = "GONB_JUPYTER_KERNEL_ID"

// progress returns a function that experiments report their progress to, from
// several goroutines. Headless it goes to the file of ProgressVar, and with a
// front end to a bar in the notebook; otherwise nowhere, so that what a
// notebook prints never depends on time.
func progress() func(done, total int) {
	file := os.Getenv(ProgressVar)
	if file == "" && os.Getenv(kernelVar) == "" {
		return func(int, int) {}
	}
	var mu sync.Mutex
	var last time.Time
	var bar *progressbar.ProgressBar
	return func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		if done < total && time.Since(last) < 200*time.Millisecond {
			return
		}
		last = time.Now()
		if file != "" {
			line, _ := json.Marshal([2]int{done, total})
			_ = os.WriteFile(file, line, 0o644) // progress may be lost, results may not
			return
		}
		if bar == nil {
			bar = progressbar.NewOptions(total, progressbar.OptionUseANSICodes(false), progressbar.OptionSetPredictTime(true))
		}
		_ = bar.Set(done)
	}
}
