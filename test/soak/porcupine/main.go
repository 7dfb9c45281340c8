// Decides with Porcupine whether a history of locks is linearizable: `go run . history.jsonl`. The exit code is 0 if it is.
// docs/internals/soak.md describes the format of the history, and what a lock is here.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"sort"
	"time"

	"github.com/anishathalye/porcupine"
)

// One line of the history. Times are milliseconds of one clock.
type line struct {
	Op, Hold, Key, Kind, Outcome string
	Call, Return, Until          float64
	Token                        int64
	Permits, Limit               int
}

// What is certain about a granted request: the lock was acquired between call and from, and held from then until end.
type hold struct {
	line
	from, proven, end float64
}

// The input of an operation: a hold begins, as the order-th of its part, or ends.
type step struct {
	*hold
	begins bool
	order  int
}

// A lock has a number of permits: an exclusive lock 1, a read-write lock any number, of which a writer needs all.
type lock struct {
	begun, used     int
	largest, writer int64 // tokens: the largest one, and the largest one of a writer
}

const (
	unlimited = 1 << 40
	// Parts end at the first cut after this number of holds.
	partSize = 500
	patience = 5 * time.Minute
)

func (h *hold) weight() int {
	switch h.Kind {
	case "permits":
		return h.Permits
	case "reader":
		return 1
	}
	return unlimited
}

func (h *hold) capacity() int {
	if h.Kind == "permits" {
		return h.Limit
	}
	return unlimited
}

func (l lock) after(s step) (bool, lock) {
	if !s.begins {
		l.used -= s.weight()
		return true, l
	}
	// Larger tokens come later, so nothing else can be the next one. Holders of permits have tokens without an order, and so
	// have readers among themselves: if any order of them is possible, then that of their replies, too.
	isNext := s.order == l.begun && l.used+s.weight() <= s.capacity()
	l.begun++
	l.used += s.weight()
	switch s.Kind {
	case "permits":
		return isNext, l
	case "reader":
		isNext = isNext && s.Token > l.writer
	default:
		isNext = isNext && s.Token > l.largest
		l.writer = s.Token
	}
	l.largest = max(l.largest, s.Token)
	return isNext, l
}

func read(from io.Reader) (map[string][]*hold, int, []string, error) {
	holds, breaks, doubtful, wrong := map[string]*hold{}, []line{}, 0, []string{}
	for decoder := json.NewDecoder(bufio.NewReader(from)); ; {
		var next line
		if err := decoder.Decode(&next); err == io.EOF {
			break
		} else if err != nil {
			return nil, 0, nil, err
		}
		h := holds[next.Hold]
		switch {
		case next.Op == "break":
			breaks = append(breaks, next)
		case next.Op == "acquire" && next.Outcome == "granted":
			holds[next.Hold] = &hold{next, math.Inf(1), math.Inf(-1), math.Inf(1)}
		case next.Op == "acquire":
			doubtful++ // It may have happened for a while, which forbids no other hold that would be allowed without it.
		case h == nil:
			return nil, 0, nil, fmt.Errorf("%s of %s before its acquire", next.Op, next.Hold)
		case next.Op == "check" && next.Outcome == "held":
			h.from, h.proven = min(h.from, next.Call), max(h.proven, next.Until)
			if next.Token != h.Token {
				wrong = append(wrong, fmt.Sprintf("%s: the token of %s changed to %d", h.Key, h, next.Token))
			}
		default: // A check that it is over, a notice of its loss, or a release, which may or may not happen, or later.
			h.end = min(h.end, next.Call)
		}
	}
	keys := map[string][]*hold{}
	for _, h := range holds {
		// A lost hold may end at any time after its deadline. To end at once is the best: fewer holds forbid less.
		h.end = min(h.end, h.proven)
		for _, b := range breaks {
			if (b.Key == "" || b.Key == h.Key) && h.Token <= b.Token && h.Call < b.Return {
				h.end = min(h.end, b.Call)
			}
		}
		if h.from < h.end {
			keys[h.Key] = append(keys[h.Key], h)
		} else {
			doubtful++
		}
	}
	return keys, doubtful, wrong, nil
}

func (h *hold) String() string {
	return fmt.Sprintf("%s (token %d, %.2f – %.2f)", h.Hold, h.Token, h.from, h.end)
}

// Puts the holds of a key into the only possible order of their tokens; where tokens have none, into that of their replies.
func inOrder(holds []*hold) {
	byReply := func(some []*hold) {
		sort.Slice(some, func(i, j int) bool { return some[i].from < some[j].from })
	}
	byReply(holds)
	if holds[0].Kind == "permits" {
		return
	}
	sort.SliceStable(holds, func(i, j int) bool { return holds[i].Token < holds[j].Token })
	for start := 0; start < len(holds); start++ {
		end := start
		for end < len(holds) && holds[end].Kind == "reader" {
			end++
		}
		byReply(holds[start:end])
		start = max(start, end)
	}
}

// Cuts where all earlier holds were observed before all later ones. Each part begins with the holds that may still last: all
// that end before the first of the part was observed may have ended. So the history is linearizable if its parts are.
func judge(holds []*hold) (parts int, illegal []string) {
	inOrder(holds)
	earliest := make([]float64, len(holds)+1) // of all from here on
	earliest[len(holds)] = math.Inf(1)
	for i := len(holds) - 1; i >= 0; i-- {
		earliest[i] = min(earliest[i+1], holds[i].from)
	}
	var open []*hold
	start, latest, state := 0, math.Inf(-1), lock{}
	for i, h := range holds {
		latest = max(latest, h.from)
		if next := i + 1; next < len(holds) && (next-start < partSize || latest > earliest[next]) {
			continue
		}
		parts++
		if story := check(state, open, holds[start:i+1]); story != "" {
			illegal = append(illegal, fmt.Sprintf("%s: %s", h.Key, story))
		}
		open = lasting(append(open, holds[start:i+1]...), earliest[i+1])
		for _, done := range holds[start : i+1] {
			_, state = state.after(step{done, true, 0})
		}
		start, state.begun, state.used = i+1, 0, 0
		for _, h := range open {
			state.used += h.weight()
		}
	}
	return parts, illegal
}

func lasting(holds []*hold, at float64) (open []*hold) {
	for _, h := range holds {
		if h.end > at {
			open = append(open, h)
		}
	}
	return open
}

func check(initial lock, open, holds []*hold) string {
	var history []porcupine.Operation
	add := func(s step, call, end float64) {
		history = append(history, porcupine.Operation{Input: s, Call: int64(call * 1e6), Return: int64(end * 1e6)})
	}
	for _, h := range open {
		add(step{h, false, 0}, h.end, h.end)
	}
	for i, h := range holds {
		add(step{h, true, i}, h.Call, h.from)
		add(step{h, false, 0}, h.end, h.end)
	}
	model := porcupine.Model{
		Init: func() any { return initial },
		Step: func(state, input, _ any) (bool, any) {
			return state.(lock).after(input.(step))
		},
	}
	switch result, info := porcupine.CheckOperationsVerbose(model, history, patience); result {
	case porcupine.Ok:
		return ""
	case porcupine.Unknown:
		return fmt.Sprintf("undecided after %v", patience)
	default:
		return stuck(holds, info)
	}
}

// The first hold that no linearization reaches, and the last one that the longest reaches.
func stuck(holds []*hold, info porcupine.LinearizationInfo) string {
	begun := 0
	for _, partial := range info.PartialLinearizationsOperations()[0] {
		count := 0
		for _, operation := range partial {
			if operation.Input.(step).begins {
				count++
			}
		}
		begun = max(begun, count)
	}
	if begun == 0 {
		return fmt.Sprintf("%s can't begin", holds[0])
	}
	return fmt.Sprintf("%s can't begin after %s", holds[min(begun, len(holds)-1)], holds[begun-1])
}

func main() {
	started := time.Now()
	file, err := os.Open(os.Args[len(os.Args)-1])
	if err != nil {
		fail(err)
	}
	keys, doubtful, illegal, err := read(file)
	if err != nil {
		fail(err)
	}
	holds, parts := 0, 0
	for _, ofKey := range keys {
		count, found := judge(ofKey)
		holds, parts, illegal = holds+len(ofKey), parts+count, append(illegal, found...)
	}
	for _, story := range illegal {
		fmt.Println("NOT LINEARIZABLE", story)
	}
	fmt.Printf("%d holds of %d keys in %d parts; %d requests were in doubt or had no grant; %.1f s\n",
		holds, len(keys), parts, doubtful, time.Since(started).Seconds())
	if len(illegal) > 0 {
		os.Exit(1)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(2)
}
