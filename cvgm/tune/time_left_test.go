package tune

import (
	"flag"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"cvgm/qpdiff/learn"
	"cvgm/qpdiff/linear"
)

var timeLeftSets = flag.Int("time-left", 0, "data sets on which the shown time left is compared with the time; zero: none, because a clock judges them")

// On nine of ten data sets, the reported time left is correct within a factor of 1.5 after a fifth
// of the time.
//
// With -time-left 60, the test takes a minute on a machine without other work.
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

// powerLearner is an elastic net whose fit takes rows^Power seconds.
type powerLearner struct {
	linear.ElasticNet
	Power float64
	rows  int
}

func (l *powerLearner) New() learn.Learner { return &powerLearner{Power: l.Power} }

func (l *powerLearner) Load(d learn.Data) error {
	l.rows = len(d.Y)
	if d.Rows != nil {
		l.rows = len(d.Rows)
	}
	return l.ElasticNet.Load(d)
}

func (l *powerLearner) Fit(theta, hyper []float64) error {
	time.Sleep(time.Duration(math.Pow(float64(l.rows), l.Power) * float64(time.Second)))
	return l.ElasticNet.Fit(theta, hyper)
}

// When the outer folds begin, the time left is correct within a factor of 1.5, although their fits
// have fewer rows.
func TestTimeLeftOfFoldsWithFewerRows(t *testing.T) {
	const factor = 1.5
	for _, power := range []float64{.5, 1, 2, 3} {
		for _, repeats := range []int{1, 4} {
			var steps []Progress
			var total time.Duration
			synctest.Test(t, func(t *testing.T) {
				tuner := Tuner{Learner: &powerLearner{Power: power}, Workers: 1, Repeats: repeats, Progress: func(p Progress) { steps = append(steps, p) }}
				total = mustTune(t, tuner, houseData(80)).Elapsed
			})
			first := slices.IndexFunc(steps, func(p Progress) bool { return strings.HasPrefix(p.Stage, "outer fold") })
			p, searches := steps[first], defaultOuterFolds*repeats
			expected := p.Left.Seconds() / float64(first*searches)
			if ratio := expected / (total - p.Elapsed).Seconds() * float64(len(steps)-first); math.Abs(math.Log(ratio)) > math.Log(factor) {
				t.Errorf("power %v, %d repeats: %.2f of the time of an evaluation", power, repeats, ratio)
			}
		}
	}
}
