// goclients BROKER - conformance checks of a Kafka-wire broker with three independent Go clients:
// franz-go, segmentio kafka-go and IBM sarama.
//
//	go run . [BROKER=127.0.0.1:9092] [-lib franz,segmentio,sarama] [-only SUBSTR] [-rf N] [-skip FILE]
//
// FILE has lines 'NAME -- WHY': checks to leave out, each named as SKIP.
// Prints PASS/FAIL per check, closes with 'N passed, N failed'; exit code 1 if any failed.
// Every check makes its own topics and groups, so an existing broker can be used and runs can repeat.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const deadline = 40 * time.Second

var (
	broker = "127.0.0.1:9092"
	rf     = 1
	run    = rand.Uint64() >> 16 // differs from check to check, for each has its own process
	seq    atomic.Int32
	ctx    context.Context // ends at the check's deadline
	checks []checkEntry
	codecs = []string{"none", "gzip", "snappy", "lz4", "zstd"} // the index is Kafka's codec number
)

type checkEntry struct {
	lib, title string
	f          func()
}

func check(lib, title string, f func()) { checks = append(checks, checkEntry{lib, title, f}) }

func name(kind string) string { return fmt.Sprintf("go-%012x-%d-%s", run, seq.Add(1), kind) }

// fail says where and why, and ends the check. The process is the check's own, so any goroutine may call it.
func fail(format string, a ...any) {
	at := ""
	for i := 1; i < 12; i++ { // the lines in the library's own file say the most
		pc, file, line, _ := runtime.Caller(i)
		if f := runtime.FuncForPC(pc); f != nil && strings.HasPrefix(f.Name(), "main.") && filepath.Base(file) != "main.go" {
			at = fmt.Sprintf("%s:%d: ", filepath.Base(file), line) + at
		}
	}
	fmt.Printf("%s%s\n", at, fmt.Sprintf(format, a...))
	os.Exit(1)
}

func yes(holds bool, format string, a ...any) {
	if !holds {
		fail(format, a...)
	}
}

func ok(err error, what string) { yes(err == nil, "%s: %v", what, err) }

func fails(err, want error, what string) {
	yes(errors.Is(err, want), "%s: got %v want %v", what, err, want)
}

func eq[T any](got, want T, what string) {
	yes(reflect.DeepEqual(got, want), "%s: got %.200s want %.200s", what, fmt.Sprint(got), fmt.Sprint(want))
}

func must[T any](v T, err error) T {
	ok(err, "unexpected error")
	return v
}

// until polls f, which also says what it saw last so that a failure can be understood.
func until(what string, seconds int, f func() (bool, any)) {
	for end := time.Now().Add(time.Duration(seconds) * time.Second); ; time.Sleep(100 * time.Millisecond) {
		met, seen := f()
		if met {
			return
		}
		yes(time.Now().Before(end) && ctx.Err() == nil, "%s not met in %d s; last %.200s", what, seconds, fmt.Sprint(seen))
	}
}

// ------------------------------------------------------------------ shared by the checks of all libraries
// Topics are made, filled and looked at with franz-go; each library's own way to do that is a check of its own.
var (
	adm    = sync.OnceValue(func() *kadm.Client { return kadm.NewClient(franz()) })
	filler = sync.OnceValue(func() *kgo.Client { return franz() })
)

// base is the time of a check's first record, the others follow: too young for the broker's retention to take them away.
var base = time.Now().UnixMilli() - 3_600_000

// mk creates a topic; config is name, value, name, value…
func mk(partitions int, config ...string) string {
	t, c := name("t"), map[string]*string{}
	for i := 0; i < len(config); i += 2 {
		c[config[i]] = &config[i+1]
	}
	must(adm().CreateTopic(ctx, int32(partitions), int16(rf), c, t))
	visible(t, partitions)
	return t
}

// shown asks every broker, as a client may, how many partitions with a leader the topic has: -1 where it is unknown.
func shown(t string) (counts []int) {
	topic, req := kmsg.NewMetadataRequestTopic(), kmsg.NewPtrMetadataRequest()
	topic.Topic = &t
	req.Topics = append(req.Topics, topic)
	for _, id := range must(adm().ListBrokers(ctx)).NodeIDs() {
		m, n := must(req.RequestWith(ctx, filler().Broker(int(id)))).Topics[0], 0
		for _, p := range m.Partitions {
			if p.ErrorCode == 0 && p.Leader >= 0 {
				n++
			}
		}
		if m.ErrorCode == kerr.UnknownTopicOrPartition.Code {
			n = -1
		}
		counts = append(counts, n)
	}
	return counts
}

// visible waits until all brokers show the partitions and the leaders take requests, which they do a little later.
func visible(t string, partitions int) {
	until(fmt.Sprintf("%d partitions with a leader", partitions), 15, func() (bool, any) {
		counts, err := shown(t), must(adm().ListEndOffsets(ctx, t)).Error()
		return slices.Min(counts) == partitions && slices.Max(counts) == partitions && err == nil, []any{counts, err}
	})
}

func gone(t string) {
	until("topic gone", 15, func() (bool, any) { counts := shown(t); return slices.Max(counts) == -1, counts })
}

func config(t, key string) kadm.Config {
	for _, c := range must(must(adm().DescribeTopicConfigs(ctx, t)).On(t, nil)).Configs {
		if c.Key == key {
			return c
		}
	}
	return kadm.Config{}
}

func numbered(prefix string, n int) (out []string) {
	for i := range n {
		out = append(out, fmt.Sprintf("%s%d", prefix, i))
	}
	return out
}

func send(cl *kgo.Client, t string, partition int, prefix string, n int) {
	var rs []*kgo.Record
	for _, v := range numbered(prefix, n) {
		rs = append(rs, &kgo.Record{Topic: t, Partition: int32(partition), Value: []byte(v)})
	}
	ok(cl.ProduceSync(ctx, rs...).FirstErr(), "produce "+prefix)
}

func fill(t string, partitions int, prefix string, n int) {
	for p := range partitions {
		send(filler(), t, p, prefix, n)
	}
}

func committed(g, t string) map[int32]int64 {
	out := map[int32]int64{}
	for p, o := range must(adm().FetchOffsets(kadm.RequireStable(ctx), g))[t] {
		ok(o.Err, "committed offset")
		out[p] = o.At
	}
	return out
}

type header struct {
	name  string
	value []byte
}

type record struct {
	partition    int32
	offset, time int64
	key, value   []byte
	headers      []header
}

// text is what records are compared by. Some readers do not tell null from empty: blur makes both null.
func (r record) text(blur bool) string {
	quote := func(b []byte) string {
		if b == nil || (blur && len(b) == 0) {
			return "null"
		}
		return strconv.Quote(string(b))
	}
	s := fmt.Sprintf("%d:%d@%d %s=%s", r.partition, r.offset, r.time, quote(r.key), quote(r.value))
	for _, h := range r.headers {
		s += " " + h.name + ":" + quote(h.value)
	}
	return s
}

// records covers null, empty and binary keys and values, duplicate header names, and null header values.
func records(n int) (out []record) {
	r := rand.New(rand.NewPCG(1, 2))
	noise := func(n int) (b []byte) {
		for range n {
			b = append(b, byte(r.Uint32()))
		}
		return b
	}
	for i := range n {
		keys := [][]byte{nil, {}, fmt.Appendf(nil, "k%d", i%17), noise(9)}
		values := [][]byte{[]byte(fmt.Sprintf("v%d-", i) + strings.Repeat("x", i%300)), {}, nil, noise(i%500 + 1)}
		heads := [][]header{nil, {{"h", []byte("1")}}, {{"h", []byte("1")}, {"h", []byte("2")}, {"empty", []byte{}}}, {{"nul", nil}, {"bin", []byte{0, 255}}}}
		out = append(out, record{0, int64(i), base + int64(i), keys[i%4], values[i/4%4], heads[i/2%4]})
	}
	return out
}

func same(got, want []record, blur bool) {
	eq(len(got), len(want), "records")
	for i := range want {
		eq(got[i].text(blur), want[i].text(blur), fmt.Sprintf("record %d", i))
	}
}

func values(rs []record) (out []string) {
	for _, r := range rs {
		out = append(out, string(r.value))
	}
	return out
}

const keyedCount, keyedKeys, keyedPartitions = 2000, 40, 6

func keyed(i int) (key, value string) {
	return fmt.Sprintf("key%d", i%keyedKeys), fmt.Sprintf("%06d", i)
}

// keyedOrder checks what was read of the keyed records: all there once, each key in one partition and in order.
func keyedOrder(rs []record) {
	next, last, home := map[int32]int64{}, map[string]string{}, map[string]int32{}
	for _, r := range rs {
		key, value := string(r.key), string(r.value)
		eq(r.offset, next[r.partition], fmt.Sprintf("offset in partition %d", r.partition))
		yes(value > last[key], "%s: %s after %s", key, value, last[key])
		if last[key] != "" {
			eq(r.partition, home[key], "partition of "+key)
		}
		next[r.partition], last[key], home[key] = r.offset+1, value, r.partition
	}
	eq([]int{len(rs), len(last), len(next)}, []int{keyedCount, keyedKeys, keyedPartitions}, "records, keys, partitions")
}

// transactions runs a commit, an abort and a commit, and reads the outcome at both isolation levels.
func transactions(begin func(), send func(tag string, n int), end func(commit bool), read func(committed bool, n int) []record) {
	for _, tag := range []string{"a", "b", "c"} {
		begin()
		send(tag, 5)
		end(tag != "b")
	}
	eq(values(read(true, 10)), slices.Concat(numbered("a", 5), numbered("c", 5)), "read_committed")
	eq(values(read(false, 15)), slices.Concat(numbered("a", 5), numbered("b", 5), numbered("c", 5)), "read_uncommitted")
}

// member is a group member of any library; it consumes all the time and notes how often it saw each record.
type member struct {
	mu    sync.Mutex
	seen  map[string]int
	leave func() // commits what was seen
}

func (m *member) saw(partition int32, offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.seen == nil {
		m.seen = map[string]int{}
	}
	m.seen[fmt.Sprintf("%d:%d", partition, offset)]++
}

// seenBy waits until the members have seen n records, and merges what they saw.
func seenBy(n int, members ...*member) (all map[string]int) {
	until(fmt.Sprintf("%d records seen", n), 15, func() (bool, any) {
		all = map[string]int{}
		for _, m := range members {
			m.mu.Lock()
			for k, times := range m.seen {
				all[k] += times
			}
			m.mu.Unlock()
		}
		return len(all) >= n, len(all)
	})
	for k, times := range all {
		yes(times == 1 && len(all) == n, "%s seen %d times, %d of %d records seen", k, times, len(all), n)
	}
	return all
}

const nextGen = "consumer" // the group protocol of KIP-848; other names are assignors of the classic protocol

// balanced waits until the coordinator shows a stable group whose members own so many partitions each, and says which.
func balanced(g, t, protocol string, want ...int) (owned [][]int32) {
	until(fmt.Sprintf("balanced %v", want), 25, func() (bool, any) {
		state, counts, err := "", []int{}, error(nil)
		owned = nil
		if protocol == nextGen {
			found, failed := adm().DescribeConsumerGroups(ctx, g) // on a new cluster the coordinator may not exist yet
			if failed != nil {
				return false, failed
			}
			d := found[g]
			for _, m := range d.Members {
				owned = append(owned, slices.Sorted(maps.Keys(m.Assignment[t])))
			}
			state, err = d.State+protocol, d.Err
		} else {
			found, failed := adm().DescribeGroups(ctx, g)
			if failed != nil {
				return false, failed
			}
			d := found[g]
			for _, m := range d.Members {
				alone := kadm.DescribedGroup{Members: []kadm.DescribedGroupMember{m}}
				owned = append(owned, slices.Sorted(maps.Keys(alone.AssignedPartitions()[t])))
			}
			state, err = d.State+d.Protocol, d.Err
		}
		for _, ps := range owned {
			counts = append(counts, len(ps))
		}
		all := slices.Sorted(slices.Values(slices.Concat(owned...)))
		return state == "Stable"+protocol && slices.Equal(counts, want) && slices.Equal(all, slices.Compact(slices.Clone(all))), []any{state, owned, err}
	})
	return owned
}

// group: two members share six partitions and see all once; one takes over from the other; a later one begins
// where they ended.
func group(protocol string, join func(g, t string) *member) {
	t, g := mk(6), name("g")
	all := func(n int64) map[int32]int64 { return map[int32]int64{0: n, 1: n, 2: n, 3: n, 4: n, 5: n} }
	one := join(g, t)
	balanced(g, t, protocol, 6)
	two := join(g, t)
	balanced(g, t, protocol, 3, 3)
	fill(t, 6, "v", 50)
	seenBy(300, one, two)
	seenBy(150, one)
	one.leave()
	balanced(g, t, protocol, 6)
	fill(t, 6, "more", 5)
	seenBy(330, one, two)
	two.leave()
	eq(committed(g, t), all(55), "committed")
	fill(t, 6, "new", 1)
	three := join(g, t)
	eq(seenBy(6, three), map[string]int{"0:55": 1, "1:55": 1, "2:55": 1, "3:55": 1, "4:55": 1, "5:55": 1}, "only the new records")
	three.leave()
	eq(committed(g, t), all(56), "committed at the end")
}

// ------------------------------------------------------------------ runner
// child runs one check. The process is its own, so a client that panics in a goroutine, or hangs, fails that check only.
func child(index int) {
	time.AfterFunc(deadline+2*time.Second, func() {
		fmt.Printf("no answer in %v\n", deadline+2*time.Second)
		os.Exit(1)
	})
	var cancel context.CancelFunc
	ctx, cancel = context.WithTimeout(context.Background(), deadline)
	checks[index].f()
	cancel()
	os.Exit(0)
}

func main() {
	args := os.Args[1:]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		broker, args = args[0], args[1:]
	}
	lib := flag.String("lib", "franz,segmentio,sarama", "libraries to check")
	only := flag.String("only", "", "only the checks whose 'lib: title' contains this")
	skip := flag.String("skip", "", "file with lines 'NAME -- WHY': checks to leave out")
	one := flag.Int("one", -1, "run just this check, in this process (the program calls itself so)")
	flag.IntVar(&rf, "rf", rf, "replication factor of the topics")
	_ = flag.CommandLine.Parse(args)
	if flag.NArg() > 0 {
		broker = flag.Arg(0)
	}
	franzChecks()
	segmentioChecks()
	saramaChecks()
	if *one >= 0 {
		child(*one)
	}
	skips := map[string]string{}
	if *skip != "" {
		for line := range strings.Lines(string(must(os.ReadFile(*skip)))) {
			if title, why, isEntry := strings.Cut(strings.TrimSpace(line), " -- "); isEntry {
				skips[title] = why
			}
		}
	}
	versions := []string{runtime.Version()}
	if info, found := debug.ReadBuildInfo(); found {
		for _, d := range info.Deps {
			if base := filepath.Base(d.Path); base == "franz-go" || base == "kafka-go" || base == "sarama" {
				versions = append(versions, base+" "+d.Version)
			}
		}
	}
	fmt.Printf("broker %s; %s\n", broker, strings.Join(versions, ", "))
	self, err := os.Executable()
	ok(err, "own path")
	passed, failed := 0, 0
	for i, c := range checks {
		if !slices.Contains(strings.Split(*lib, ","), c.lib) || !strings.Contains(c.lib+": "+c.title, *only) {
			continue
		}
		if why, isSkipped := skips[c.lib+": "+c.title]; isSkipped {
			fmt.Printf("SKIP %s: %s -- %s\n", c.lib, c.title, why)
			continue
		}
		start := time.Now()
		out, err := exec.Command(self, broker, "-rf", strconv.Itoa(rf), "-one", strconv.Itoa(i)).CombinedOutput()
		line := fmt.Sprintf("%s: %s (%.1fs)", c.lib, c.title, time.Since(start).Seconds())
		if err == nil {
			passed++
			fmt.Println("PASS " + line)
		} else {
			failed++
			fmt.Printf("FAIL %s -- %.300s\n", line, cmp.Or(strings.Join(strings.Fields(string(out)), " "), err.Error()))
		}
	}
	fmt.Printf("%d passed, %d failed\n", passed, failed)
	if failed > 0 || passed == 0 { // a mistyped -lib or -only is no success
		os.Exit(1)
	}
}
