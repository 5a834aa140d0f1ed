package notebook

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// GoNB sets kernelVar if a front end is attached.
const kernelVar = "GONB_JUPYTER_KERNEL_ID"

// progress returns two functions for one run of an experiment, report and finish. Several
// goroutines may call report with the number of finished cells. At the end, one goroutine calls
// finish. The effect of report depends on how the notebook runs:
//
//   - If ProgressVar is set, report writes to the file that ProgressVar names.
//   - Otherwise, if there is a front end, report shows a line in the notebook, and finish removes
//     this line.
//   - Without a front end, report has no effect, so that the output of a notebook does not depend
//     on time.
func progress() (report func(done, total int), finish func()) {
	file := os.Getenv(ProgressVar)
	if file == "" && os.Getenv(kernelVar) == "" {
		return func(int, int) {}, func() {}
	}
	var mu sync.Mutex
	var last, began time.Time
	var first int // number of cells done when the run began
	id := ""
	report = func(done, total int) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		if began.IsZero() {
			began, first = now, done
		}
		if done < total && now.Sub(last) < 200*time.Millisecond {
			return
		}
		last = now
		if file != "" {
			line, _ := json.Marshal([2]int{done, total})
			_ = os.WriteFile(file, line, 0o644) // progress may be lost
			return
		}
		if id == "" {
			id = gonbui.UniqueId()
		}
		gonbui.UpdateHTML(id, progressHTML(done, total, timeLeft(done-first, total-done, now.Sub(began))))
	}
	finish = func() {
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			gonbui.UpdateHTML(id, "")
			gonbui.Sync()
		}
	}
	return report, finish
}

// timeLeft estimates the remaining time of a run from the time of its finished part. If it cannot
// estimate the time, it returns 0.
func timeLeft(done, left int, took time.Duration) time.Duration {
	if done <= 0 {
		return 0
	}
	return time.Duration(float64(took) / float64(done) * float64(left)).Round(time.Second)
}

func progressHTML(done, total int, left time.Duration) string {
	text := fmt.Sprintf("%d of %d", done, total)
	if left > 0 {
		text += fmt.Sprintf(", about %s left", duration(left))
	}
	return fmt.Sprintf(`<progress value="%d" max="%d" aria-label="cells of the experiment that are done"></progress> %s`, done, total, text)
}

// duration returns a time in words, in the form of ./reproduce.sh.
func duration(d time.Duration) string {
	switch s := int(d.Seconds()); {
	case s < 60:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		return fmt.Sprintf("%d h %d min", s/3600, s%3600/60)
	}
}
