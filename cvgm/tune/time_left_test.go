package tune

import (
	"flag"
	"math"
	"testing"
)

var timeLeftSets = flag.Int("time-left", 0, "data sets on which the shown time left is compared with the time; zero: none, because a clock judges them")

// The test is about sets whose tuning takes half a second or more. After a fifth of the time, Tune
// reports the time left. On nine of ten sets, this time is right within a factor 1.5. 60 sets take
// a minute and need a quiet machine.
func TestTimeLeftOfDrawnSets(t *testing.T) {
	if *timeLeftSets == 0 {
		t.Skip("needs -time-left N and a quiet machine")
	}
	const share, factor, least, shortest = .2, 1.5, .9, .5
	right, all := 0, 0
	for k := range *timeLeftSets {
		s := drawSetOf(checkedOn, trialLearners, 100, 50_000+k, 1)
		var steps []Progress
		s.tuner.Progress = func(p Progress) { steps = append(steps, p) }
		tuned, err := s.tuner.Tune(t.Context(), s.data)
		if err != nil {
			t.Fatal(err)
		}
		total := tuned.Elapsed.Seconds()
		if total < shortest {
			continue
		}
		for _, p := range steps {
			if p.Elapsed.Seconds() < share*total {
				continue
			}
			all++
			ratio := p.Left.Seconds() / (total - p.Elapsed.Seconds())
			if math.Abs(math.Log(ratio)) <= math.Log(factor) {
				right++
			} else {
				t.Logf("%s, %s, %d rows, %.2f s, %s: %.2f of the time left", s.name, s.learner, len(s.data.Y), total, p.Stage, ratio)
			}
			break
		}
	}
	t.Logf("right on %d of %d sets", right, all)
	if float64(right) < least*float64(all) {
		t.Errorf("right on fewer than %.0f", least*float64(all))
	}
}
