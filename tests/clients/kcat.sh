#!/usr/bin/env bash
# kcat.sh BROKER [SKIP-FILE]: checks with kcat (librdkafka): metadata, produce (keys, headers, codecs, nulls, idempotent), consume by
# offset, timestamp and tail, offset queries, a balanced group that resumes, a transactional producer. Needs kcat and coreutils.
# SKIP-FILE has lines 'NAME -- WHY': checks to leave out, each named as SKIP.
set -u
B=${1:-127.0.0.1:9092}
SKIP=${2:-/dev/null}
KCAT=${KCAT:-kcat}
T=kcat-$$-$RANDOM
W=$(mktemp -d); trap 'rm -rf "$W"' EXIT
pass=0; fail=0
ok()   { pass=$((pass+1)); echo "PASS kcat: $1"; }
bad()  { fail=$((fail+1)); echo "FAIL kcat: $1${2:+ -- $2}"; }
# skipped NAME: says so if the file names it
skipped() { local line; line=$(grep -F -m1 "kcat: $1 -- " "$SKIP") && echo "SKIP $line"; }
# check NAME EXPECTED ACTUAL
check() { if [ "$2" == "$3" ]; then ok "$1"; else bad "$1" "expected [$(head -c 120 <<<"$2" | tr '\n' ' ')] got [$(head -c 120 <<<"$3" | tr '\n' ' ')]"; fi; }
k() { timeout 30 $KCAT -b "$B" "$@" 2>"$W/err"; }

$KCAT -V 2>&1 | grep -m1 -i version
# 1 metadata
if k -L >"$W/meta"; then ok "metadata list all"; else bad "metadata list all" "$(tail -1 "$W/err")"; fi
n=$(grep -cE '^ +broker [0-9]+ at ' "$W/meta"); [ "$n" -ge 1 ] && ok "metadata has $n broker(s)" || bad "metadata has brokers"
grep -q '(controller)' "$W/meta" && ok "metadata names a controller" || bad "metadata names a controller"
k -L -J >"$W/meta.json" && grep -q '"brokers":\[{' "$W/meta.json" && ok "metadata JSON" || bad "metadata JSON"

# 2 plain produce to an auto-created topic, single partition 0, and read back in order
seq 1 1000 | sed 's/^/v/' > "$W/in"
if k -P -t "$T" -p 0 -X acks=all < "$W/in"; then ok "produce 1000 acks=all (auto-create)"; else bad "produce 1000 acks=all (auto-create)" "$(tail -1 "$W/err")"; fi
k -C -t "$T" -p 0 -o beginning -e -q > "$W/out"; cmp -s "$W/in" "$W/out" && ok "consume 1000 in order, bytes equal" || bad "consume 1000 in order, bytes equal" "got $(wc -l <"$W/out") lines; $(tail -1 "$W/err")"
check "offsets are 0..999" "0 999 1000" "$(k -C -t "$T" -p 0 -o beginning -e -q -f '%o\n' | awk 'NR==1{f=$1}{l=$1;n++}END{print f,l,n}')"
check "consume from offset 990" "v991 v1000 10" "$(k -C -t "$T" -p 0 -o 990 -e -q | awk 'NR==1{f=$1}{l=$1;n++}END{print f,l,n}')"
check "consume last 5 (-o -5)" "v996 v1000 5" "$(k -C -t "$T" -p 0 -o -5 -e -q | awk 'NR==1{f=$1}{l=$1;n++}END{print f,l,n}')"
check "consume count limit (-c 3)" "v1 v2 v3" "$(k -C -t "$T" -p 0 -o beginning -c 3 -q | tr '\n' ' ' | sed 's/ $//')"

# 3 acks 0 and 1
for a in 0 1; do seq 1 50 | k -P -t "$T-a$a" -p 0 -X acks=$a; sleep 0.5; check "acks=$a delivers 50" 50 "$(k -C -t "$T-a$a" -p 0 -o beginning -e -q | wc -l)"; done

# 4 keys, headers, null and empty values
printf 'k1:val1\nk2:\nk3:val3\n' | k -P -t "$T-k" -p 0 -K: -Z -H h1=x -H h2=y
check "keys, headers, null value" "k1|4|val1|h1=x,h2=y;k2|-1||h1=x,h2=y;k3|4|val3|h1=x,h2=y;" "$(k -C -t "$T-k" -p 0 -o beginning -e -q -f '%k|%S|%s|%h;')"

# 5 every codec, 500 compressible records each, through one topic each
for c in none gzip snappy lz4 zstd; do
  for i in $(seq 1 500); do echo "$c-record-$i-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"; done > "$W/c.in"
  k -P -t "$T-$c" -p 0 -z $c -X linger.ms=50 < "$W/c.in"; rc=$?
  k -C -t "$T-$c" -p 0 -o beginning -e -q > "$W/c.out"
  if [ $rc == 0 ] && cmp -s "$W/c.in" "$W/c.out"; then ok "codec $c roundtrip 500"; else bad "codec $c roundtrip 500" "rc=$rc got $(wc -l <"$W/c.out"); $(tail -1 "$W/err")"; fi
done

# 6 a large record (900 kB) and a batch of binary
head -c 900000 /dev/urandom | base64 -w0 | head -c 900000 > "$W/big"
k -P -t "$T-big" -p 0 "$W/big"; k -C -t "$T-big" -p 0 -o beginning -e -q -f '%s' > "$W/big.out"
cmp -s "$W/big" "$W/big.out" && ok "900 kB record" || bad "900 kB record" "$(tail -1 "$W/err")"
# over the broker's default max.message.bytes (1048588): the broker must answer MSG_SIZE_TOO_LARGE and stay up
head -c 3000000 /dev/urandom | base64 -w0 | head -c 3000000 > "$W/huge"
timeout 30 $KCAT -b "$B" -P -t "$T-big" -p 0 -X message.max.bytes=4000000 "$W/huge" 2>"$W/err"; rc=$?
if [ $rc != 0 ] && grep -qi 'too large' "$W/err"; then ok "3 MB record refused with MSG_SIZE_TOO_LARGE"; else bad "3 MB record refused with MSG_SIZE_TOO_LARGE" "rc=$rc $(tail -1 "$W/err")"; fi

# 7 offset queries: earliest, latest, by timestamp
check "query earliest/latest" "$T [0] offset 0;$T [0] offset 1000" "$(k -Q -t "$T:0:-2" | tr -d '\n');$(k -Q -t "$T:0:-1" | tr -d '\n')"
ts=$(k -C -t "$T" -p 0 -o 500 -c 1 -q -f '%T'); first=$(k -C -t "$T" -p 0 -o beginning -e -q -f '%o %T\n' | awk -v t="$ts" '$2>=t{print $1; exit}')
check "query by timestamp" "$T [0] offset $first" "$(k -Q -t "$T:0:$ts" | tr -d '\n')"
check "query by future timestamp is end" "$T [0] offset -1" "$(k -Q -t "$T:0:$(( ($(date +%s)+86400)*1000 ))" | tr -d '\n')"
check "consume by timestamp (s@)" "$((1000-first))" "$(k -C -t "$T" -p 0 -o s@$ts -e -q | wc -l)"

# 8 idempotent producer
seq 1 300 | k -P -t "$T-idem" -p 0 -X enable.idempotence=true; check "idempotent produce 300" 300 "$(k -C -t "$T-idem" -p 0 -o beginning -e -q | wc -l)"

# 9 partitioner across partitions, whole topic
seq 1 200 | awk '{print "key" $1 ":" $1}' | k -P -t "$T-multi" -K:
check "consume all partitions: 200" 200 "$(k -C -t "$T-multi" -o beginning -e -q | sort -n | uniq | wc -l)"

# 10 balanced consumer group: read all, commit on exit, resume with nothing, then only the new ones
G=$T-g
timeout 40 $KCAT -b "$B" -G "$G" -X auto.offset.reset=earliest -X session.timeout.ms=6000 -e -q "$T" > "$W/g1" 2>"$W/err"; check "group reads 1000" 1000 "$(wc -l <"$W/g1")"
seq 1 7 | sed 's/^/n/' | k -P -t "$T" -p 0
timeout 40 $KCAT -b "$B" -G "$G" -X auto.offset.reset=earliest -X session.timeout.ms=6000 -e -q "$T" > "$W/g2" 2>"$W/err"; check "group resumes at commit: 7 new" "n1 7" "$(head -1 "$W/g2") $(wc -l <"$W/g2")"

# 11 transactional producer (kcat -X transactional.id commits at end of input), read_committed sees all
if ! skipped "transactional produce, read_committed sees 20"; then
  seq 1 20 | k -P -t "$T-txn" -p 0 -X transactional.id=$T-tx; rc=$?
  if [ $rc == 0 ]; then check "transactional produce, read_committed sees 20" 20 "$(k -C -t "$T-txn" -p 0 -o beginning -e -q -X isolation.level=read_committed | wc -l)"; else bad "transactional produce, read_committed sees 20" "$(tail -1 "$W/err")"; fi
fi

# 12 errors: unknown partition, offset out of range with reset=error
seq 1 | timeout 20 $KCAT -b "$B" -P -t "$T" -p 9999 2>"$W/err"; grep -qi 'unknown partition' "$W/err" && ok "produce to unknown partition fails" || bad "produce to unknown partition fails" "$(tail -1 "$W/err")"
timeout 20 $KCAT -b "$B" -C -t "$T" -p 0 -o 999999 -e -q -X auto.offset.reset=error >/dev/null 2>"$W/err"; grep -qi 'out of range' "$W/err" && ok "fetch out of range reported" || bad "fetch out of range reported" "$(tail -1 "$W/err")"

echo "$pass passed, $fail failed"
[ $fail == 0 ]
