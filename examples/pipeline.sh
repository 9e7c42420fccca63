#!/bin/sh
# Lines go in through `klog produce`; halfway the node that leads a partition is killed; the lines come out through two members of one
# consumer group that read at the same time, and both sides are compared. Fails loudly if a line is lost, doubled or changed.
#
#   klog cluster run -- sh examples/pipeline.sh [LINES=100000]
#
# Works against any Kafka-compatible brokers too, without the killing: KLOG_BROKERS=host:9092 sh examples/pipeline.sh
# KLOG names the binary when `klog` is not on the PATH.
set -eu

lines=${1:-100000}
: "${KLOG_BROKERS:?start me with: klog cluster run -- sh examples/pipeline.sh}"
klog=${KLOG:-klog}
work=$(mktemp -d)
children=''
finish() {
    for child in $children; do kill "$child" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM
fail() { echo "pipeline: FAILED: $*" >&2; exit 1; }

nodes=$(echo "$KLOG_BROKERS" | tr ',' '\n' | wc -l)
topic=pipeline-$$ group=pipeline-$$
if [ "$nodes" -ge 3 ]; then
    "$klog" topic create "$topic" -p 6 -r 3 -c min.insync.replicas=2 >&2
else
    "$klog" topic create "$topic" -p 6 >&2
fi
echo "pipeline: $lines lines into topic $topic (6 partitions) at $KLOG_BROKERS" >&2

seq "$lines" | sed 's/^/order /' >"$work/sent"
keyed() { awk '{ print "key" $2 % 1000 "\t" $0 }'; }
mkfifo "$work/pipe"
"$klog" produce "$topic" -K "$(printf '\t')" <"$work/pipe" & producer=$!
children=$producer
exec 3>"$work/pipe"
head -n $((lines / 2)) "$work/sent" | keyed >&3

# Only a cluster that was started for this may be broken.
if [ -n "${KLOG_CLUSTER:-}" ] && [ "$nodes" -ge 3 ]; then
    leader=$("$klog" topic describe -q --no-headers "$topic" | awk 'NR == 1 { print $3 }')
    "$klog" cluster kill "$leader" >/dev/null || fail "cannot kill node $leader"
    echo "pipeline: killed node $leader, the leader of partition 0, after half of the lines" >&2
fi

# Two members share the partitions; each writes what it got, and both run until the count is complete. They must not hold the pipe open.
"$klog" consume "$topic" -g "$group" -o start -q >"$work/one" 3>&- & one=$!
"$klog" consume "$topic" -g "$group" -o start -q >"$work/two" 3>&- & two=$!
children="$producer $one $two"

tail -n +$((lines / 2 + 1)) "$work/sent" | keyed >&3
exec 3>&-
wait "$producer" || fail "klog produce gave $?"

tries=0
until [ "$(cat "$work/one" "$work/two" | wc -l)" -ge "$lines" ]; do
    kill -0 "$one" 2>/dev/null && kill -0 "$two" 2>/dev/null || fail "a group member ended early"
    tries=$((tries + 1))
    [ "$tries" -le 300 ] || fail "after 30 s only $(cat "$work/one" "$work/two" | wc -l) of $lines lines came out"
    sleep 0.1
done

# An interrupt makes a member commit what it printed and leave the group.
kill -INT "$one" "$two"
wait "$one" || fail "the first member gave $?"
wait "$two" || fail "the second member gave $?"
children=''

sort "$work/sent" >"$work/sent.sorted"
sort "$work/one" "$work/two" >"$work/read.sorted"
cmp "$work/sent.sorted" "$work/read.sorted" >&2 || fail "what came out is not what went in"
echo "pipeline: member one read $(wc -l <"$work/one") lines, member two $(wc -l <"$work/two")" >&2
"$klog" group describe "$group" >&2
echo "pipeline: $lines lines in, $lines out, every line exactly once"
