package live

import (
	"bytes"
	"image/png"
	"strings"
	"testing"
)

func TestStrips(t *testing.T) {
	forEachProblem(t, func(t *testing.T, p Problem) {
		settings, steps := quickMachine(t, p, 0).Settings(), []int{0, 2, 5}
		strip, err := newStrip(settings, steps)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := png.Decode(bytes.NewReader(strip.PNG)); err != nil {
			t.Error(err)
		}
		if f := strip.Figure; !strings.HasPrefix(f.Caption, p.Title()+" under the paper's settings after 0, 2 and 5 steps") || !strings.Contains(f.Alt(), "step 5: ") {
			t.Errorf("caption %q, alternative text %q", f.Caption, f.Alt())
		}
		want := len(steps)
		if p != ElasticNet {
			want *= 2 // for the full gradient and the published direction
		}
		if got := len(strip.States.Rows); got != want {
			t.Errorf("%d states, want %d", got, want)
		}
		if p != Rings {
			return
		}
		again, err := newStrip(settings, steps)
		if err != nil || !bytes.Equal(again.PNG, strip.PNG) || again.States.CSV() != strip.States.CSV() {
			t.Errorf("two strips differ (%v)", err)
		}
	})
}
