package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"cvgm/notebooks/store"
)

// BenchmarkKeep measures the cost of writing the record of a cell to the worker's file.
func BenchmarkKeep(b *testing.B) {
	j, err := store.NewJournal(b.TempDir(), "bench.", testKey, []byte("{}"))
	if err != nil {
		b.Fatal(err)
	}
	_, cancel := context.WithCancelCause(context.Background())
	k := &shardKeeper{journal: j, wanted: func(int) bool { return true }, cancel: cancel, open: map[int]bool{}}
	cell := struct{ Test, CV [6]float64 }{[6]float64{1.0 / 3, 2.0 / 3}, [6]float64{1.0 / 7}}
	i := 0
	for b.Loop() {
		k.Load(i, &cell)
		k.Keep(i, &cell)
		i++
	}
	if err := j.Close(); err != nil || k.err != nil {
		b.Fatal(err, k.err)
	}
	file, err := os.Stat(j.Name())
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(file.Size())/float64(i), "bytes/cell")
}

// BenchmarkExchange measures how long hyperparameters take to another node and a gradient takes
// back, over the loopback interface.
func BenchmarkExchange(b *testing.B) {
	const rings, xor = 322, 4482 // numbers of parameters of the two networks
	for _, numbers := range []int{2, rings, xor} {
		b.Run(fmt.Sprintf("numbers=%d", numbers), func(b *testing.B) {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer listener.Close()
			go func() {
				if c, err := listener.Accept(); err == nil {
					_, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c})
				}
			}()
			c, err := net.Dial("tcp", listener.Addr().String())
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			message := make([]byte, 8*numbers)
			for b.Loop() {
				if _, err := c.Write(message); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, message); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(message)), "bytes/way")
		})
	}
}
