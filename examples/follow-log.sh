#!/bin/sh
# Forwards a log file to a topic, line by line as it is written, also after the file was rotated. Ends with ^C.
#
#   sh examples/follow-log.sh /var/log/syslog [TOPIC=logs]
#
# Each line is keyed by the name of this host, so that the lines of one host stay in order. What the brokers refuse is kept in
# TOPIC.failed, ready for `klog produce -J`. KLOG names the binary when `klog` is not on the PATH.
set -eu

file=${1:?which file? sh examples/follow-log.sh FILE [TOPIC]}
topic=${2:-logs}
host=$(uname -n)
# -F goes on with the file of that name when another takes its place; -n +1 begins with the lines that are there.
tail -n +1 -F "$file" | "${KLOG:-klog}" produce "$topic" --create -k "$host" -H "file=$file" --failed "$topic.failed"
