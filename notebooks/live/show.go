package live

import (
	"context"
	_ "embed"
	"html"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cvgm/notebooks/notebook"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/comms"
	"github.com/janpfeifer/gonb/gonbui/protocol"
)

//go:embed page.html
var page string

// answerTime is how long a front end may take to answer, and retryTime how long
// until it is asked again.
const (
	answerTime = 20 * time.Second
	retryTime  = 4 * time.Second
)

// Show shows the controls and the picture below the cell and serves them until
// the cell is interrupted; the picture then stays. Where no page answers, it
// shows the strips.
func Show() {
	kernel := os.Getenv(protocol.GONB_JUPYTER_KERNEL_ID_ENV)
	if kernel == "" {
		showStrips()
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	m := NewMachine()
	defer m.Close()

	root := "cvgm-" + gonbui.UniqueId()
	in := newInbox()
	comms.Subscribe(root+"/events", func(_, text string) { in.put(text) })
	gonbui.UpdateHTML(root, strings.NewReplacer("ROOT", root, "KERNEL", kernel, "WIDTH", strconv.Itoa(width), "HEIGHT", strconv.Itoa(height)).Replace(page))
	if !answered(ctx, in) {
		if ctx.Err() == nil {
			gonbui.UpdateHTML(root, "<p>The controls need JupyterLab, and no second page that shows this notebook. Here are pictures instead.</p>")
			showStrips()
		}
		return
	}
	(&server{Machine: m, in: in, send: func(frame string) { comms.Send(root+"/frames", frame) }}).run(ctx)
	comms.Send(root+"/frames", "end")
	// What is saved with the notebook and seen without a kernel.
	gonbui.UpdateHTML(root, "<pre>"+html.EscapeString(m.Readout()+"\n"+m.Settings().Command(m.view().shown))+"</pre>")
	gonbui.DisplayPng(notebook.Must(m.PNG()))
	gonbui.Sync()
}

// answered waits for the page's first message and tells whether one came. On a
// busy machine the kernel's connection to the page may fail at first: it is
// tried again.
func answered(ctx context.Context, in *inbox) bool {
	late := time.After(answerTime)
	again := time.NewTicker(retryTime)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-late:
			return false
		case <-again.C:
			comms.Start()
		case <-in.wake:
			in.rouse()
			return true
		}
	}
}

func showStrips() {
	for p := range problems {
		strip := notebook.Must(NewStrip(p))
		gonbui.DisplayPng(strip.PNG)
		notebook.Show(strip.States)
	}
}
