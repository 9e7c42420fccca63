#!/usr/bin/env python3
"""failover.py BOOTSTRAP --kill CMD --start CMD [--rounds 5] - how long writes stand still when a partition's leader dies,
and whether anything acknowledged is lost or doubled.

A librdkafka producer (acks=all, idempotent) writes one record every 2 ms to a topic with 3 replicas. Each round kills the
leader's process (CMD gets the node id in $NODE), measures the longest pause between two acknowledgements, starts the node
again and waits until the ISR is full. At the end every acknowledged record must be in the log exactly once and in order.

  kafka up 3 min.insync.replicas=2
  failover.py 127.0.0.1:19093,127.0.0.1:19094,127.0.0.1:19095 --kill 'kafka kill $NODE' --start 'kafka start $NODE'

--pause-max MS: fails, too, where the median pause is longer.
Needs confluent-kafka (tests/clients/setup installs it).
"""
import argparse, os, statistics, subprocess, sys, threading, time, uuid
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
ap.add_argument('bootstrap')
ap.add_argument('--kill', required=True)
ap.add_argument('--start', required=True)
ap.add_argument('--rounds', type=int, default=5)
ap.add_argument('--pause-max', type=float, metavar='MS')
ap.add_argument('--settle', type=float, default=60, help='seconds that the ISR may take to fill again')
a = ap.parse_args()

admin = AdminClient({'bootstrap.servers': a.bootstrap})
topic = 'failover-' + uuid.uuid4().hex[:8]
admin.create_topics([NewTopic(topic, 1, 3, config={'min.insync.replicas': '2'})])[topic].result(30)


def partition():
    return admin.list_topics(topic, timeout=10).topics[topic].partitions[0]


def wait_for(what, check, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if check():
                return
        except Exception as e:
            what = f'{what} ({e})'
        time.sleep(0.1)
    sys.exit(f'gave up waiting for {what}')


acked, ack_times, failed, stop = [], [], [], threading.Event()
producer = Producer({'bootstrap.servers': a.bootstrap, 'enable.idempotence': True, 'acks': 'all', 'linger.ms': 0,
                     'reconnect.backoff.max.ms': 500, 'retry.backoff.ms': 20, 'retry.backoff.max.ms': 200, 'delivery.timeout.ms': 60000})


def delivered(number):
    def report(error, message):
        if error:
            failed.append((number, str(error)))
        else:
            acked.append(number)
            ack_times.append(time.monotonic())
    return report


def write():
    n = 0
    while not stop.is_set():
        producer.produce(topic, str(n).encode(), on_delivery=delivered(n))
        n += 1
        producer.poll(0.002)
    producer.flush(60)


wait_for('a full ISR', lambda: len(partition().isrs) == 3, a.settle)
writer = threading.Thread(target=write)
writer.start()
time.sleep(2)
pauses, mended = [], []
for number in range(a.rounds):
    leader = partition().leader
    began, before = time.monotonic(), len(ack_times)
    subprocess.run(a.kill, shell=True, check=True, env={**os.environ, 'NODE': str(leader)})
    wait_for('another leader', lambda: partition().leader not in (-1, leader), a.settle)
    wait_for('an acknowledged write', lambda: len(ack_times) > before + 500, a.settle)
    times = ack_times[max(before - 1, 0):]
    pauses.append(max(y - x for x, y in zip(times, times[1:])))
    t = time.monotonic()
    subprocess.run(a.start, shell=True, check=True, env={**os.environ, 'NODE': str(leader)})
    wait_for('a full ISR', lambda: len(partition().isrs) == 3, a.settle)
    mended.append(time.monotonic() - t)
    print(f'round {number + 1}: leader {leader} killed, writes paused {pauses[-1] * 1000:.0f} ms; restart to full ISR {mended[-1]:.1f} s', flush=True)
    time.sleep(1)
stop.set()
writer.join()

consumer = Consumer({'bootstrap.servers': a.bootstrap, 'group.id': 'none', 'enable.partition.eof': True, 'auto.offset.reset': 'earliest'})
consumer.assign([TopicPartition(topic, 0, 0)])
seen = []
while True:
    m = consumer.poll(10)
    if m is None:
        sys.exit('reading back timed out')
    if m.error():
        break
    seen.append(int(m.value()))
lost, doubled = set(acked) - set(seen), len(seen) - len(set(seen))
print(f'{len(acked)} acknowledged, {len(failed)} refused, {len(lost)} lost, {doubled} doubled, in order: {seen == sorted(seen)}; '
      f'pause median {statistics.median(pauses) * 1000:.0f} ms, longest {max(pauses) * 1000:.0f} ms; full ISR median {statistics.median(mended):.1f} s')
slow = a.pause_max is not None and statistics.median(pauses) * 1000 > a.pause_max
sys.exit(1 if lost or doubled or seen != sorted(seen) or slow else 0)
