package table_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"cvgm/cvgm/table"
)

// A server predicts from records with its current pipeline, which a request may replace.
type server struct {
	pipeline atomic.Pointer[table.Pipeline]
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /model", s.load)
	mux.HandleFunc("POST /predict", s.predict)
	return mux
}

// maxModel and maxRecord bound the bytes of a request.
const maxModel, maxRecord = 64 << 20, 64 << 10

// The method load replaces the pipeline. A public server must check who sends the request.
func (s *server) load(w http.ResponseWriter, r *http.Request) {
	fresh := new(table.Pipeline)
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxModel))
	if err == nil {
		err = json.Unmarshal(text, fresh)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.pipeline.Store(fresh)
	w.WriteHeader(http.StatusNoContent)
}

// The method predict writes the prediction for a JSON object that maps columns to texts.
func (s *server) predict(w http.ResponseWriter, r *http.Request) {
	pipeline := s.pipeline.Load() // one model for the whole request
	if pipeline == nil {
		http.Error(w, "no model yet", http.StatusServiceUnavailable)
		return
	}
	var record map[string]string
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRecord)).Decode(&record)
	var y float64
	if err == nil {
		y, err = pipeline.PredictRecord(record)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]float64{pipeline.Target: y}) // an error means that the client has disconnected
}

// ask returns the status and the body of the server's answer.
func (s *server) ask(method, path, body string) (status int, answer string) {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	return w.Code, strings.TrimSpace(w.Body.String())
}

// lineModel returns the JSON of a pipeline that is fitted to two rows.
func lineModel(text string) string {
	tbl, err := table.ReadCSV(strings.NewReader(text), "price")
	if err != nil {
		panic(err)
	}
	out, err := json.Marshal(fitTwo(tbl))
	if err != nil {
		panic(err)
	}
	return string(out)
}

const (
	cheap = "weight,price\n1,3\n2,5\n3,7\n"
	dear  = "weight,price\n1,30\n2,50\n3,70\n"
)

// A program serves a pipeline over HTTP and receives a new pipeline while it runs.
func ExamplePipeline_server() {
	var s server
	for _, text := range []string{cheap, dear} {
		status, _ := s.ask("PUT", "/model", lineModel(text))
		fmt.Print(status, " ")
		_, answer := s.ask("POST", "/predict", `{"weight": "4"}`)
		var y struct{ Price float64 }
		if err := json.Unmarshal([]byte(answer), &y); err != nil {
			panic(err)
		}
		fmt.Printf("%.3f\n", y.Price)
	}
	fmt.Println(s.ask("POST", "/predict", `{"weight": "heavy"}`))
	// Output:
	// 204 9.000
	// 204 90.000
	// 400 cvgm: record: column "weight" holds "heavy" (not finite): put a finite number there
}

// WriteGo writes a pipeline as a Go file that does not import this module.
func ExamplePipeline_WriteGo() {
	tbl, err := table.ReadCSV(strings.NewReader(cheap), "price")
	if err != nil {
		panic(err)
	}
	var file strings.Builder
	if err := fitTwo(tbl).WriteGo(&file, "model"); err != nil {
		panic(err)
	}
	for line := range strings.Lines(file.String()) {
		if strings.HasPrefix(line, "package ") || strings.HasPrefix(line, "func Predict") {
			fmt.Print(line)
		}
	}
	// Output:
	// package model
	// func Predict(row map[string]string) (float64, error) {
	// func PredictValues(values []float64) (float64, error) {
}

// During reloads, the server answers each request with either the old or the new model.
func TestServerReloads(t *testing.T) {
	const record = `{"weight": "4"}`
	models := []string{lineModel(cheap), lineModel(dear)}
	var s server
	if status, _ := s.ask("POST", "/predict", record); status != http.StatusServiceUnavailable {
		t.Errorf("status %d without a model", status)
	}
	load := func(text string, want int) {
		if status, answer := s.ask("PUT", "/model", text); status != want {
			t.Errorf("status %d instead of %d: %s", status, want, answer)
		}
	}
	either := map[string]bool{}
	for _, m := range models {
		load(m, http.StatusNoContent)
		_, answer := s.ask("POST", "/predict", record)
		either[answer] = true
	}
	if len(either) != 2 {
		t.Fatal(either)
	}
	_, before := s.ask("POST", "/predict", record)
	for _, bad := range []string{"", "{}", models[0][:len(models[0])/2], strings.Replace(models[0], "weight", "height", 1)} {
		load(bad, http.StatusBadRequest)
	}
	if _, after := s.ask("POST", "/predict", record); after != before {
		t.Errorf("%s after models that are refused, %s before", after, before)
	}
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 50 {
				if status, answer := s.ask("POST", "/predict", record); status != http.StatusOK || !either[answer] {
					t.Errorf("status %d: %s", status, answer)
				}
			}
		})
	}
	for i := range 50 {
		load(models[i%2], http.StatusNoContent)
	}
	wait.Wait()
}

// The server rejects records that are too long, lack a column, or are not JSON.
func TestServerRefusesRecords(t *testing.T) {
	var s server
	s.ask("PUT", "/model", lineModel(cheap))
	for _, body := range []string{"", "[]", "{}", `{"weight": 4}`, `{"weight": "NaN"}`, `{"weight": "` + strings.Repeat("1", maxRecord) + `"}`} {
		if status, answer := s.ask("POST", "/predict", body); status != http.StatusBadRequest {
			t.Errorf("status %d: %s", status, answer[:min(len(answer), 200)])
		}
	}
}
