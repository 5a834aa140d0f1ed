package notebook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"cvgm/cvgm/experiment/claims"
	"cvgm/notebooks/source"
)

// Judged returns verdicts on the paper's claims, from the results of a draw. For draw 0, the
// verdicts use all draws that ./reproduce.sh --again has recorded. The second result is a text for
// readers. If the record of the draws cannot be used, this text gives the reason. If the record was
// made with other source code, the text names the rows that have changed since.
func Judged(p ResultsParams, results claims.Results) (judged []claims.Claim, note string) {
	judged = claims.Claims(results)
	var record bytes.Buffer
	Check(claims.RecordOf(judged).Write(&record, p.Draw))
	SaveFile("estimates.csv", record.String())
	if p.Draw != 0 {
		return judged, fmt.Sprintf("These are the verdicts of draw %d alone.", p.Draw)
	}
	recorded, err := os.ReadFile(filepath.Join(Must(source.Root()), "figures", "out", "draws.csv"))
	if errors.Is(err, fs.ErrNotExist) {
		return judged, ""
	}
	Check(err)
	return pooledBy(recorded, judged, currentSource)
}

// pooledBy judges the claims of draw 0 with the results of all recorded draws. If the record cannot
// be used, it returns the claims unchanged, and a note with the reason.
func pooledBy(recorded []byte, judged []claims.Claim, current func(function string) string) (pooled []claims.Claim, note string) {
	draws, first, err := claims.ReadRecords(bytes.NewReader(recorded))
	if err == nil && first != 0 {
		err = fmt.Errorf("the first of them is draw %d", first)
	}
	if err == nil {
		pooled, err = claims.Pool(judged, draws)
	}
	if err != nil {
		return judged, fmt.Sprintf("These are the verdicts of draw 0 alone, since the recorded draws cannot be used: %v. The command ./reproduce.sh --again 10 records them anew.", err)
	}
	return pooled, noteOf(len(draws), olderSources(recorded, current), claims.Moved(judged, draws[0]))
}

// noteOf returns a note on changes since the draws were recorded. It names the experiments in
// older, whose sources have changed, and the rows of draw 0 in moved, whose estimates have changed
// as a result.
func noteOf(draws int, older, moved []string) string {
	if older == nil && moved == nil {
		return ""
	}
	note := fmt.Sprintf("The sources of %s have changed since the %d draws were recorded. ", fewNames(older), draws)
	if moved == nil {
		return note + "Draw 0, computed again, has the same numbers: no estimate has moved by a tenth of its standard error."
	}
	return note + fmt.Sprintf("That has moved these rows of draw 0 by more than a tenth of their standard error: %s. The command ./reproduce.sh --again %d records the draws anew.", strings.Join(moved, ", "), draws)
}

// fewNames returns the names of the experiments. If there are more than a few, it returns only
// their number.
func fewNames(names []string) string {
	const few = 4
	switch {
	case len(names) == 0:
		return "no experiment"
	case len(names) <= few:
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%d experiments", len(names))
}

var sourceLine = regexp.MustCompile(`(?m)^# (\S+) (\S+)$`)

// olderSources returns the names of the experiments whose source has changed since the draws were
// recorded. For each experiment, the record has a comment with the name of the experiment's
// function and a hash of all source that the function reached.
func olderSources(recorded []byte, current func(function string) string) []string {
	var older []string
	for _, found := range sourceLine.FindAllSubmatch(recorded, -1) {
		function, hash := string(found[1]), string(found[2])
		if current(function) != hash {
			older = append(older, strings.TrimSuffix(function, "Params.Run"))
		}
	}
	return older
}

// currentSource returns the hash of all source that an experiment reaches. If there is no
// experiment with the given name, it returns "".
func currentSource(function string) string {
	hash, err := module().Function("cvgm/cvgm/experiment/" + function) // the record has the last part of the path
	if err != nil {
		return ""
	}
	return hash
}
