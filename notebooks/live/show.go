package live

import (
	"context"
	_ "embed"
	"html"
	"io"
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

// Show waits at most answerTime for an answer of a front end. During this time, it repeats its
// request at intervals of retryTime. A cell whose kernel has ended must end within exitTime.
const (
	answerTime = 25 * time.Second
	retryTime  = 4 * time.Second
	exitTime   = 8 * time.Second
)

// Show shows the controls and the picture below the cell, in their last state. It serves the pages
// until one of three events: the cell is interrupted, its kernel ends, or the last page that shows
// the controls is closed. The picture then remains. If no page answers, Show shows the strips.
func Show() {
	kernel := os.Getenv(protocol.GONB_JUPYTER_KERNEL_ID_ENV)
	if kernel == "" {
		showStrips()
		return
	}
	notebook.NoteCopy()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, orphaned := whileOpen(ctx, os.Stdin)
	context.AfterFunc(ctx, func() {
		if orphaned() { // the process may be waiting for the kernel to open a pipe
			time.Sleep(exitTime)
			os.Exit(1)
		}
	})
	k, state, err := openKeeper()
	notebook.Check(err)
	m := Restore(state)
	defer m.Close()

	root := "cvgm-" + gonbui.UniqueId()
	in := newInbox()
	gonbui.UpdateHTML(root, strings.NewReplacer("ROOT", root, "KERNEL", kernel, "WIDTH", strconv.Itoa(width), "HEIGHT", strconv.Itoa(height)).Replace(page))
	comms.Subscribe(root+"/events", func(_, text string) { in.addMessages(text) })
	if !answered(ctx, in) {
		if ctx.Err() == nil {
			gonbui.UpdateHTML(root, "<p>The controls need JupyterLab. Here are pictures instead.</p>")
			showStrips()
		}
		return
	}
	frames := root + "/frames"
	s := newServer(m, in, func(text string) { comms.Send(frames, text) })
	s.keep = k.keep
	s.run(ctx)
	if orphaned() {
		return // without a kernel, no program reads the output
	}
	comms.Send(frames, end)
	// The notebook saves this output. Readers see it even if no kernel runs.
	gonbui.UpdateHTML(root, "<pre>"+html.EscapeString(m.Readout()+"\n"+m.Settings().Command(m.view().shown))+"</pre>")
	notebook.ShowDrawn(m.figure(), notebook.Must(m.PNG()))
	notebook.Check(k.err)
}

// whileOpen returns a context that is done when the reader r ends, and a function that reports
// whether r has ended. The standard input of a cell is a pipe from its kernel, so this input ends
// when the kernel ends.
func whileOpen(ctx context.Context, r io.Reader) (context.Context, func() bool) {
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, r)
		stop(io.EOF)
	}()
	return ctx, func() bool { return context.Cause(ctx) == io.EOF }
}

// The function answered waits for the first message of a page, and reports whether a message
// arrived. On a busy machine, the first connection between kernel and page may fail, so answered
// tries several times.
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
		notebook.ShowDrawn(strip.Figure, strip.PNG)
		notebook.Show(strip.States)
	}
}
