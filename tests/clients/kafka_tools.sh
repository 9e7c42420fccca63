#!/usr/bin/env bash
# kafka_tools.sh BROKER: checks with the command-line tools that Apache Kafka ships, through benches/compare/kafka.
# KAFKA_PEER_DIR names the folder of its jars. Prints PASS/FAIL per check and closes with 'N passed, N failed'.
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=${1:?a broker}
T=tools-$$-$RANDOM
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
export JAVA_TOOL_OPTIONS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xmx256m"
pass=0 fail=0

tool() { # NAME ARGS…: stdout is the tool's, its talk goes to $W/err
    local name=$1; shift
    timeout 60 "$here/../../benches/compare/kafka" tool "$name" "$@" 2>"$W/err.all"; local rc=$?
    grep -v JAVA_TOOL_OPTIONS "$W/err.all" >"$W/err"
    return $rc
}
at() { local name=$1; shift; tool "$name" --bootstrap-server "$B" "$@"; }
short() { head -c 200 <<<"$1" | tr '\n' ' '; }
check() { # NAME WANT GOT
    if [ "$2" == "$3" ]; then pass=$((pass + 1)); echo "PASS kafka-tools: $1"; else
        fail=$((fail + 1)); echo "FAIL kafka-tools: $1 -- want [$(short "$2")] got [$(short "$3")] $(tail -n 1 "$W/err" | cut -c 1-200)"; fi
}
succeeds() { local name=$1; shift; "$@" >"$W/out"; check "$name" 0 $?; }

# --- what the broker says of itself
at api-versions >"$W/versions"
check "api-versions: Produce and Fetch are served" 2 "$(grep -cE '(Produce\(0\)|Fetch\(1\)): ' "$W/versions")"
check "cluster: an id" 1 "$(tool cluster cluster-id --bootstrap-server "$B" | grep -c 'Cluster ID: .')"

# --- topics
succeeds "topics --create" at topics --create --topic "$T" --partitions 3 --replication-factor 1 --config retention.ms=86400000
check "topics --list" "$T" "$(at topics --list | grep -x "$T")"
check "topics --describe" "3 86400000" "$(at topics --describe --topic "$T" | awk '/PartitionCount/ { match($0, /PartitionCount: [0-9]+/); n = substr($0, RSTART + 16, RLENGTH - 16) } match($0, /retention.ms=[0-9]+/) { r = substr($0, RSTART + 13, RLENGTH - 13) } END { print n, r }')"
succeeds "topics --alter --partitions" at topics --alter --topic "$T" --partitions 4
at topics --create --topic "$T" --partitions 1 >"$W/out"; check "topics --create of one that exists fails" 1 $?
check "topics: it says that the topic exists" "already exists" "$(cat "$W/err" "$W/out" | grep -o -m1 'already exists' | head -n 1)"

# --- console producer and consumer
seq 1 1000 | awk '{ print "key" $1 % 7 "\tvalue " $1 }' >"$W/in"
succeeds "console-producer: 1000 keyed lines" at console-producer --topic "$T" --reader-property parse.key=true --reader-property 'key.separator=	' <"$W/in"
at console-consumer --topic "$T" --from-beginning --max-messages 1000 --timeout-ms 20000 --formatter-property print.key=true --formatter-property 'key.separator=	' --group "$T-g" >"$W/got"
check "console-consumer in a group: the same lines" "$(sort "$W/in" | md5sum)" "$(sort "$W/got" | md5sum)"

# --- offsets
check "get-offsets latest: 1000 over 4 partitions" "4 1000" "$(at get-offsets --topic "$T" --time -1 | awk -F: '{ n++; sum += $3 } END { print n, sum }')"
check "get-offsets earliest" "4 0" "$(at get-offsets --topic "$T" --time -2 | awk -F: '{ n++; sum += $3 } END { print n, sum }')"
check "get-offsets max-timestamp" 4 "$(at get-offsets --topic "$T" --time -3 | wc -l)"

# --- groups
check "groups --list" "$T-g" "$(at groups --list | grep -x -- "$T-g")"
check "groups --describe: all read, no lag" "1000 0" "$(at groups --describe --group "$T-g" | awk -v t="$T" '$2 == t { read += $4; lag += $6 } END { print read, lag }')"
check "groups --describe --state" 1 "$(at groups --describe --group "$T-g" --state | grep -c Empty)"
succeeds "groups --reset-offsets --to-earliest" at groups --reset-offsets --group "$T-g" --topic "$T" --to-earliest --execute
check "groups: lag after the reset" 1000 "$(at groups --describe --group "$T-g" | awk -v t="$T" '$2 == t { lag += $6 } END { print lag + 0 }')"
succeeds "groups --delete-offsets" at groups --delete-offsets --group "$T-g" --topic "$T"
succeeds "groups --delete" at groups --delete --group "$T-g"
check "groups --list after it" "" "$(at groups --list | grep -x -- "$T-g")"

# --- delete-records
end=$(at get-offsets --topic "$T" --time -1 --partitions 0 | awk -F: '{ print $3 }')
echo "{\"partitions\": [{\"topic\": \"$T\", \"partition\": 0, \"offset\": $end}], \"version\": 1}" >"$W/delete.json"
at delete-records --offset-json-file "$W/delete.json" >"$W/out"
check "delete-records" "low_watermark: $end" "$(grep -o 'low_watermark: [0-9]*' "$W/out")"
check "get-offsets earliest after it" "$end" "$(at get-offsets --topic "$T" --time -2 --partitions 0 | awk -F: '{ print $3 }')"

# --- configs
succeeds "configs --alter a topic" at configs --alter --entity-type topics --entity-name "$T" --add-config 'retention.ms=123456,cleanup.policy=[compact,delete]'
check "configs --describe it" "cleanup.policy=compact,delete retention.ms=123456" "$(at configs --describe --entity-type topics --entity-name "$T" | grep -oE '^ +(cleanup.policy|retention.ms)=[a-z0-9,]+' | tr -d ' ' | sort | tr '\n' ' ' | sed 's/ $//')"
succeeds "configs --delete-config" at configs --alter --entity-type topics --entity-name "$T" --delete-config cleanup.policy
at configs --alter --entity-type topics --entity-name "$T" --add-config 'retention.ms=soon' >"$W/out"; check "configs: a bad value fails" 1 $?
check "configs --describe --all of a broker" log.segment.bytes= "$(at configs --describe --all --entity-type brokers --entity-name 1 | grep -oE '^ +log.segment.bytes=' | tr -d ' ')"
check "log-dirs --describe names the topic" 1 "$(at log-dirs --describe --topic-list "$T" | grep -c "\"$T-0\"\|\"partition\":\"$T-0\"")"

# --- perf and verifiable clients
tool producer-perf --topic "$T-perf" --num-records 50000 --record-size 200 --throughput -1 --command-property bootstrap.servers="$B" acks=all >"$W/out"
check "producer-perf: 50000 records" "50000 records sent" "$(tail -n 1 "$W/out" | grep -o '^50000 records sent')"
at consumer-perf --topic "$T-perf" --num-records 50000 --timeout 20000 >"$W/out"
check "consumer-perf: 50000 records" 50000 "$(tail -n 1 "$W/out" | awk -F', *' '{ print $5 }')"
at verifiable-producer --topic "$T-ver" --max-messages 2000 --throughput -1 --acks -1 >"$W/out"
check "verifiable-producer: 2000 acked" '"acked":2000' "$(grep -o '"acked":2000' "$W/out")"
at verifiable-consumer --topic "$T-ver" --group-id "$T-vg" --max-messages 2000 --reset-policy earliest >"$W/out"
check "verifiable-consumer: 2000 read, committed" "2000 true" "$(awk -F'"count":' '/"name":"records_consumed"/ { split($2, a, /[,}]/); n += a[1] } /"name":"offsets_committed"/ { ok = /"success":true/ } END { print n, (ok ? "true" : "false") }' "$W/out")"

for topic in "$T" "$T-perf" "$T-ver"; do succeeds "topics --delete ${topic#"$T"}" at topics --delete --topic "$topic"; done
check "topics --list after it" "" "$(at topics --list | grep -- "^$T")"

echo "$pass passed, $fail failed"
[ $fail == 0 ]
