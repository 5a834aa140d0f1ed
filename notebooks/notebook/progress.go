package notebook

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// kernelVar is set by GoNB if a front end is attached.
const kernelVar = "GONB_JUPYTER_KERNEL_ID"

// progress returns two functions: one by which several goroutines report the progress of an
// experiment, and one to be called at the end. Without a front end, progress goes to the file of
// ProgressVar. With one, it goes to a line in the notebook, which is removed at the end. Otherwise
// it is discarded, so that a notebook's output never depends on time.
func progress() (report func(done, total int), end func()) {
	file := os.Getenv(ProgressVar)
	if file == "" && os.Getenv(kernelVar) == "" {
		return func(int, int) {}, func() {}
	}
	var mu sync.Mutex
	var last, began time.Time
	var first int // done when it began
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
			_ = os.WriteFile(file, line, 0o644) // progress may be lost, results may not
			return
		}
		if id == "" {
			id = gonbui.UniqueId()
		}
		gonbui.UpdateHTML(id, progressHTML(done, total, timeLeft(done-first, total-done, now.Sub(began))))
	}
	end = func() {
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			gonbui.UpdateHTML(id, "")
			gonbui.Sync()
		}
	}
	return report, end
}

// timeLeft estimates the remaining time from the time of the finished part. 0: unknown.
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

// duration returns a time in words, as ./reproduce.sh prints it.
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
