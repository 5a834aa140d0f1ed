package live

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// stub stands for JupyterLab: a kernel that loses the first step of the reader and answers
// all else. Its title lists the events that reach the kernel.
const stub = `<!DOCTYPE html><title>none</title><script>
const got = [];
let lost = 0, latest = 0;
class Stub {
	static OPEN = 1; static CLOSED = 3;
	readyState = 1;
	constructor() { setTimeout(() => this.onopen()); }
	close() {}
	say(data) { setTimeout(() => this.onmessage({data: JSON.stringify({msg_type: "comm_msg", content: {comm_id: "c", data}})})); }
	send(text) {
		const {header, content} = JSON.parse(text);
		if (header.msg_type === "comm_open") return this.say({address: "#comm_open_ack"});
		const event = JSON.parse(content.data.value);
		if (event.kind === "drawn" || event.kind === "here") return;
		if (event.kind === "step" && !lost) { lost = event.seq; return; }
		latest = Math.max(latest, event.seq);
		if (event.kind === "step") { got.push(event.seq === lost ? "again" : "other"); document.title = got.join(); }
		const frame = {number: latest, seq: got.length || !lost ? latest : lost - 1, problem: 0, problems: ["p"], controls: [], at: [], svg: "", alt: "", readout: "", command: "", speed: "", shown: 1, last: 1};
		this.say({address: "ROOT/frames", value: JSON.stringify(frame)});
	}
}
window.WebSocket = Stub;
setTimeout(() => document.querySelector(".step").click(), 500);
</script>`

// An event that is lost on its way to the kernel is sent once more, with its own number.
func TestPageSendsALostEventAgain(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("no chromium")
	}
	page, err := os.ReadFile("page.html")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "page.html")
	if err := os.WriteFile(file, append([]byte(stub), page...), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+filepath.Join(dir, "user"),
		"--virtual-time-budget=8000", "--dump-dom", "file://"+file).Output()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(out), "<title>again</title>") {
		t.Errorf("the kernel has got: %.120s", out)
	}
}

// An event that a page sends again although it has arrived has its effect once.
func TestEventSentAgainHasItsEffectOnce(t *testing.T) {
	s := newServer(NewMachine(), newInbox(), func(string) {})
	defer s.Close()
	s.handle(message{Event: Event{Kind: Scrub}, Page: "a", Seq: 6})
	for range 3 {
		if !s.handle(message{Event: Event{Kind: Step}, Page: "a", Seq: 7}) {
			t.Error("no frame answers")
		}
	}
	if got := s.now().shown; got != 1 {
		t.Errorf("step %d after one event at step 0", got)
	}
	shown := s.now().shown
	s.handle(message{Event: Event{Kind: Step}, Page: "b", Seq: 7})
	if got := s.now().shown; got != shown+1 {
		t.Errorf("step %d after one event of another page at step %d", got, shown)
	}
}
