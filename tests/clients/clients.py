#!/usr/bin/env python3
"""clients.py BROKER - conformance checks of a Kafka-wire broker with three independent Python clients:
confluent_kafka (librdkafka), kafka-python (pure Python) and aiokafka.

  clients.py [BROKER=127.0.0.1:9092] [--lib confluent,kafka-python,aiokafka] [--only SUBSTR,...]
             [--rf 1] [--timeout 60] [--skip FILE]

FILE has lines 'NAME -- WHY': checks to leave out, each named as SKIP. Each other check prints PASS/FAIL; the last line is 'N passed, N failed'; exit code 1 if any failed.
Every check makes its own topics and groups, so an existing broker can be used and runs can repeat.
"""
import argparse, asyncio, collections, os, sys, threading, time, traceback, uuid, random, zlib

ap = argparse.ArgumentParser()
ap.add_argument('broker', nargs='?', default='127.0.0.1:9092')
ap.add_argument('--lib', default='confluent,kafka-python,aiokafka')
ap.add_argument('--only', default='')
ap.add_argument('--rf', type=int, default=1)
ap.add_argument('--timeout', type=int, default=60)
ap.add_argument('--skip')
ap.add_argument('-v', action='store_true')
A = ap.parse_args()
B, RF = A.broker, A.rf
RUN = uuid.uuid4().hex[:8]
CODECS = ['none', 'gzip', 'snappy', 'lz4', 'zstd']
CHECKS = []
_n = 0


def name(p='t'):
    global _n
    _n += 1
    return f'py-{RUN}-{os.getpid()}-{_n}-{p}'  # each check runs in its own process


def check(lib, title, timeout=None):
    def deco(f):
        CHECKS.append((lib, title, f, timeout))
        return f
    return deco


def eq(got, want, what=''):
    if got != want:
        g, w = repr(got), repr(want)
        raise AssertionError(f'{what}: got {g[:200]} want {w[:200]}')


def records(n, seed=1):
    """(key, value, headers) triples that cover null/empty/binary/duplicate cases."""
    r = random.Random(seed)
    out = []
    for i in range(n):
        key = [None, b'', b'k%d' % (i % 17), bytes(r.getrandbits(8) for _ in range(9))][i % 4]
        val = [b'v%d-' % i + b'x' * (i % 300), b'', None, bytes(r.getrandbits(8) for _ in range(i % 700))][i % 4 if i % 8 else 0]
        hdr = [[], [('h', b'1')], [('h', b'1'), ('h', b'2'), ('empty', b'')], [('nul', None), ('bin', b'\x00\xff')]][i % 4]
        out.append((key, val, hdr))
    return out


def until(f, t=20, what='condition', step=0.2):
    end = time.time() + t
    last = None
    while time.time() < end:
        try:
            last = f()
            if last:
                return last
        except Exception as e:  # noqa
            last = e
        time.sleep(step)
    raise AssertionError(f'{what} not met in {t}s; last {last!r}')


# ------------------------------------------------------------------ confluent_kafka (librdkafka)
def conf(**kw):
    c = {'bootstrap.servers': B, 'socket.timeout.ms': 15000, 'log_level': 2}
    c.update({k.replace('_', '.'): v for k, v in kw.items()})
    return c


def ck():
    import confluent_kafka
    return confluent_kafka


_ADM = None


def adm():
    # one client for the whole run: a future does not keep its AdminClient alive
    global _ADM
    if _ADM is None:
        from confluent_kafka.admin import AdminClient
        _ADM = AdminClient(conf())
    return _ADM


def mk(parts=1, cfg=None, topic=None):
    from confluent_kafka.admin import NewTopic
    t = topic or name()
    a = adm()
    a.create_topics([NewTopic(t, parts, RF, config=cfg or {})], request_timeout=15)[t].result(20)
    until(lambda: len(a.list_topics(t, timeout=5).topics[t].partitions) == parts, what='topic visible')
    return t


def produce(t, recs, part=None, ts=None, **kw):
    p = ck().Producer(conf(**kw))
    errs, offs = [], []

    def cb(e, m):
        (errs.append(str(e)) if e else offs.append((m.partition(), m.offset())))
    for i, (k, v, h) in enumerate(recs):
        a = dict(key=k, value=v, headers=h or None, on_delivery=cb)
        if part is not None:
            a['partition'] = part
        if ts is not None:
            a['timestamp'] = ts[i]
        p.produce(t, **a)
        p.poll(0)
    left = p.flush(30)
    if errs or left:
        raise AssertionError(f'{len(errs)} delivery errors {errs[:1]}, {left} unsent')
    return offs


def read(t, n=None, parts=(0,), start=None, timeout=20, **kw):
    """All messages of the partitions from the start up to their end (or n messages)."""
    k = ck()
    cf = conf(group_id=name('r'), enable_auto_commit=False, auto_offset_reset='earliest', enable_partition_eof=True)
    cf.update({a.replace('_', '.'): b for a, b in kw.items()})
    c = k.Consumer(cf)
    try:
        c.assign([k.TopicPartition(t, p, k.OFFSET_BEGINNING if start is None else start) for p in parts])
        out, eof, end = [], set(), time.time() + timeout
        while time.time() < end and len(eof) < len(parts) and (n is None or len(out) < n):
            m = c.poll(0.3)
            if m is None:
                continue
            if m.error():
                if m.error().code() == k.KafkaError._PARTITION_EOF:
                    eof.add(m.partition())
                    continue
                raise AssertionError(str(m.error()))
            out.append(m)
        if len(eof) < len(parts) and (n is None or len(out) < n):
            raise AssertionError(f'read stopped at {len(out)} messages without reaching the end')
        return out
    finally:
        c.close()


def kerr(fut, *codes):
    """The future must fail with one of the named KafkaError codes."""
    k = ck()
    try:
        fut.result(20)
    except k.KafkaException as e:
        got = e.args[0]
        want = [getattr(k.KafkaError, c) for c in codes]
        if got.code() not in want:
            raise AssertionError(f'error {got} not in {codes}')
        return got
    raise AssertionError(f'succeeded, want {codes}')


@check('confluent', 'describe cluster')
def _():
    d = adm().describe_cluster(request_timeout=15).result(20)
    assert d.cluster_id and len(d.nodes) >= 1 and d.controller is not None, d


@check('confluent', 'create topic: partitions and replicas as asked')
def _():
    t = mk(3)
    m = adm().list_topics(t, timeout=10).topics[t]
    eq(sorted(m.partitions), [0, 1, 2])
    for p in m.partitions.values():
        eq(len(p.replicas), RF, 'replicas')
        assert p.leader in p.isrs, 'leader in isr'


@check('confluent', 'create topic errors: exists, bad name, bad replication, bad partitions, bad config')
def _():
    from confluent_kafka.admin import NewTopic
    a = adm()
    t = mk(1)
    kerr(a.create_topics([NewTopic(t, 1, RF)])[t], 'TOPIC_ALREADY_EXISTS')
    kerr(a.create_topics([NewTopic('bad name!', 1, RF)])['bad name!'], 'TOPIC_EXCEPTION')
    n = name()
    kerr(a.create_topics([NewTopic(n, 1, 99)])[n], 'INVALID_REPLICATION_FACTOR')
    kerr(a.create_topics([NewTopic(n, 1, RF, config={'no.such.config': '1'})])[n], 'INVALID_CONFIG')


@check('confluent', 'create topic validate_only creates nothing')
def _():
    from confluent_kafka.admin import NewTopic
    a, t = adm(), name()
    a.create_topics([NewTopic(t, 1, RF)], validate_only=True)[t].result(20)
    time.sleep(0.5)
    assert t not in a.list_topics(timeout=10).topics


@check('confluent', 'create partitions grows, refuses to shrink')
def _():
    from confluent_kafka.admin import NewPartitions
    a, t = adm(), mk(2)
    a.create_partitions([NewPartitions(t, 5)])[t].result(20)
    until(lambda: len(a.list_topics(t, timeout=5).topics[t].partitions) == 5, what='5 partitions')
    kerr(a.create_partitions([NewPartitions(t, 3)])[t], 'INVALID_PARTITIONS')


def _codec(codec, **extra):
    t = mk(1)
    recs = records(400)
    offs = produce(t, recs, part=0, compression_type=codec, linger_ms=50, **extra)
    eq(sorted(o for _, o in offs), list(range(400)), 'offsets')
    got = read(t)
    eq(len(got), 400, 'count')
    for i, (m, (k, v, h)) in enumerate(zip(got, recs)):
        eq(m.offset(), i, 'offset')
        eq(m.key(), k, f'key of {i}')
        eq(m.value(), v, f'value of {i}')
        eq(m.headers() or [], h, f'headers of {i}')
        eq(m.timestamp()[0], 1, 'timestamp type CreateTime')


for _c in CODECS:
    check('confluent', f'produce/consume {_c}: keys, nulls, headers, bytes equal')(lambda c=_c: _codec(c))
check('confluent', 'idempotent producer: same bytes, no gaps')(lambda: _codec('lz4', enable_idempotence=True))


@check('confluent', 'acks=0 and acks=1')
def _():
    for acks in (0, 1):
        t = mk(1)
        produce(t, [(None, b'%d' % i, []) for i in range(50)], part=0, acks=acks)
        until(lambda: len(read(t)) == 50, what=f'acks={acks} delivered')


@check('confluent', 'explicit timestamps kept; offsets_for_times; watermarks')
def _():
    k = ck()
    t = mk(1)
    base = int(time.time() * 1000) - 1_000_000
    ts = [base + 1000 * i for i in range(100)]
    produce(t, [(None, b'%d' % i, []) for i in range(100)], part=0, ts=ts)
    eq([m.timestamp()[1] for m in read(t)], ts, 'timestamps')
    c = k.Consumer(conf(group_id=name('g')))
    try:
        def at(x):
            r = c.offsets_for_times([k.TopicPartition(t, 0, x)], timeout=10)[0]
            assert not r.error, r.error
            return r.offset
        eq(at(base), 0, 'exact first')
        eq(at(base + 41500), 42, 'between')
        eq(at(base + 42000), 42, 'exact')
        eq(at(0), 0, 'before all')
        eq(at(base + 10_000_000), k.OFFSET_END, 'after all')
        eq(c.get_watermark_offsets(k.TopicPartition(t, 0), timeout=10), (0, 100), 'watermarks')
    finally:
        c.close()


@check('confluent', 'offsets_for_times inside one batch (many records per batch)')
def _():
    k = ck()
    t = mk(1)
    base = int(time.time() * 1000) - 100_000
    ts = [base + (i // 2) for i in range(200)]
    produce(t, [(None, b'%d' % i, []) for i in range(200)], part=0, ts=ts, linger_ms=200, compression_type='gzip')
    c = k.Consumer(conf(group_id=name('g')))
    try:
        r = [c.offsets_for_times([k.TopicPartition(t, 0, base + j)], timeout=10)[0].offset for j in (0, 1, 50, 99)]
        eq(r, [0, 2, 100, 198])
    finally:
        c.close()


@check('confluent', 'message.timestamp.type=LogAppendTime')
def _():
    t = mk(1, {'message.timestamp.type': 'LogAppendTime'})
    t0 = int(time.time() * 1000)
    produce(t, [(None, b'x', [])] * 5, part=0, ts=[1000] * 5)
    for m in read(t):
        eq(m.timestamp()[0], 2, 'type')
        assert abs(m.timestamp()[1] - t0) < 30_000, m.timestamp()


@check('confluent', 'list_offsets: earliest, latest, max timestamp')
def _():
    from confluent_kafka.admin import OffsetSpec
    k = ck()
    t = mk(1)
    base = int(time.time() * 1000) - 10_000
    produce(t, [(None, b'a', []), (None, b'b', []), (None, b'c', [])], part=0, ts=[base, base + 500, base + 10])
    tp = k.TopicPartition(t, 0)
    g = lambda s: list(adm().list_offsets({tp: s}, request_timeout=15).values())[0].result(20)
    eq(g(OffsetSpec.earliest()).offset, 0, 'earliest')
    eq(g(OffsetSpec.latest()).offset, 3, 'latest')
    r = g(OffsetSpec.max_timestamp())
    eq((r.offset, r.timestamp), (1, base + 500), 'max timestamp')


@check('confluent', 'seek back and forth, pause/resume')
def _():
    k = ck()
    t = mk(1)
    produce(t, [(None, b'%d' % i, []) for i in range(100)], part=0)
    c = k.Consumer(conf(group_id=name('g'), enable_auto_commit=False))
    try:
        tp = k.TopicPartition(t, 0, 0)
        c.assign([tp])
        m = until(lambda: c.poll(1), what='first')
        eq(m.offset(), 0)
        for o in (90, 3, 50):
            c.seek(k.TopicPartition(t, 0, o))
            eq(until(lambda: c.poll(1), what='seek').offset(), o, 'seek')
        c.pause([tp])
        assert c.poll(1) is None, 'paused'
        c.resume([tp])
        eq(until(lambda: c.poll(1), what='resume').offset(), 51, 'after resume')
    finally:
        c.close()


@check('confluent', 'offset out of range: reset to end / error')
def _():
    k = ck()
    t = mk(1)
    produce(t, [(None, b'x', [])] * 3, part=0)
    c = k.Consumer(conf(group_id=name('g'), auto_offset_reset='error'))
    try:
        c.assign([k.TopicPartition(t, 0, 500)])
        m = until(lambda: c.poll(1), what='error event')
        assert m.error() and m.error().code() == k.KafkaError._AUTO_OFFSET_RESET, m.error()
    finally:
        c.close()
    eq(len(read(t, start=500)), 3, 'reset to earliest reads all')


@check('confluent', 'MSG_SIZE_TOO_LARGE for a record over the limit, smaller ones still accepted')
def _():
    k = ck()
    t = mk(1, {'max.message.bytes': '100000'})
    p = k.Producer(conf(message_max_bytes=5_000_000))
    e = []
    p.produce(t, b'x' * 500_000, partition=0, on_delivery=lambda err, m: e.append(err))
    p.flush(20)
    assert e and e[0] is not None and e[0].code() == k.KafkaError.MSG_SIZE_TOO_LARGE, e
    produce(t, [(None, b'ok', [])], part=0)
    eq([m.value() for m in read(t)], [b'ok'])


@check('confluent', 'unknown topic without auto-create')
def _():
    k = ck()
    c = k.Consumer({**conf(group_id=name('g')), 'allow.auto.create.topics': False})
    try:
        c.subscribe([name('absent')])
        m = until(lambda: c.poll(1), what='error event')
        assert m.error() and m.error().code() == k.KafkaError.UNKNOWN_TOPIC_OR_PART, m.error()
    finally:
        c.close()


def drain(c, n, t=30, out=None):
    out = [] if out is None else out
    end = time.time() + t
    while len(out) < n and time.time() < end:
        m = c.poll(0.3)
        if m is not None and not m.error():
            out.append(m)
    if len(out) < n:
        raise AssertionError(f'got {len(out)} of {n}')
    return out


@check('confluent', 'group: subscribe, read, sync commit, resume after it')
def _():
    k = ck()
    t, g = mk(1), name('g')
    produce(t, [(None, b'%d' % i, []) for i in range(100)], part=0)
    cf = dict(group_id=g, auto_offset_reset='earliest', enable_auto_commit=False, session_timeout_ms=6000)
    c = k.Consumer(conf(**cf))
    c.subscribe([t])
    ms = drain(c, 40)
    c.commit(offsets=[k.TopicPartition(t, 0, 40, metadata='mark')], asynchronous=False)
    r = c.committed([k.TopicPartition(t, 0)], timeout=10)[0]
    eq((r.offset, r.metadata), (40, 'mark'), 'committed')
    c.close()
    c = k.Consumer(conf(**cf))
    c.subscribe([t])
    ms = drain(c, 60)
    eq((ms[0].offset(), ms[-1].offset()), (40, 99), 'resumed')
    c.close()


@check('confluent', 'commit without group membership (simple consumer)')
def _():
    k = ck()
    t, g = mk(1), name('g')
    c = k.Consumer(conf(group_id=g, enable_auto_commit=False))
    try:
        eq(c.committed([k.TopicPartition(t, 0)], timeout=10)[0].offset, k.OFFSET_INVALID, 'none yet')
        c.assign([k.TopicPartition(t, 0, 0)])
        c.commit(offsets=[k.TopicPartition(t, 0, 7)], asynchronous=False)
        eq(c.committed([k.TopicPartition(t, 0)], timeout=10)[0].offset, 7)
    finally:
        c.close()


def _rebalance(strategy=None, **extra):
    """Two members share 6 partitions, one leaves, the other takes all; every message exactly once."""
    k = ck()
    t, g = mk(6), name('g')
    cf = conf(group_id=g, auto_offset_reset='earliest', enable_auto_commit=True, auto_commit_interval_ms=200)
    if strategy:
        cf['partition.assignment.strategy'] = strategy
    if 'group_protocol' not in extra:
        cf['session.timeout.ms'] = 6000
        cf['heartbeat.interval.ms'] = 500
    cf.update({a.replace('_', '.'): b for a, b in extra.items()})
    cs = [k.Consumer(dict(cf, **{'client.id': f'c{i}'})) for i in (0, 1)]
    seen = collections.Counter()
    stop = threading.Event()
    closed = [False, False]
    own = [[], []]

    def loop(i):
        while not stop.is_set() and not closed[i]:
            m = cs[i].poll(0.2)
            own[i] = sorted(p.partition for p in cs[i].assignment())
            if m is not None and not m.error():
                seen[(m.partition(), m.offset())] += 1
        cs[i].close()
    th = []
    for i in (0, 1):
        cs[i].subscribe([t])
        x = threading.Thread(target=loop, args=(i,), daemon=True)
        x.start()
        th.append(x)
    asg = lambda i: own[i]
    try:
        until(lambda: len(asg(0)) == 3 and len(asg(1)) == 3 and sorted(asg(0) + asg(1)) == list(range(6)), 45, 'balanced 3/3')
        produce(t, [(b'%d' % i, b'%d' % i, []) for i in range(600)])
        until(lambda: len(seen) == 600, 20, 'all 600 seen')
        d = adm().describe_consumer_groups([g], request_timeout=15)[g].result(20)
        eq(len(d.members), 2, 'members described')
        eq(sorted(p.partition for m in d.members for p in m.assignment.topic_partitions), list(range(6)), 'assignment described')
        time.sleep(0.6)
        closed[1] = True
        th[1].join(15)
        until(lambda: len(asg(0)) == 6, 30, 'survivor owns all 6')
        produce(t, [(b'%d' % i, b'%d' % i, []) for i in range(100)])
        until(lambda: len(seen) == 700, 20, 'all 700 seen')
        assert max(seen.values()) <= 1, f'duplicates: {[x for x in seen.items() if x[1] > 1][:3]}'
    finally:
        stop.set()
        for x in th:
            x.join(15)


check('confluent', 'group rebalance, range assignor', 120)(lambda: _rebalance())
check('confluent', 'group rebalance, roundrobin assignor', 120)(lambda: _rebalance('roundrobin'))
check('confluent', 'group rebalance, cooperative-sticky', 120)(lambda: _rebalance('cooperative-sticky'))
check('confluent', 'group rebalance, KIP-848 consumer protocol', 120)(lambda: _rebalance(group_protocol='consumer'))


@check('confluent', 'static membership: restart keeps the member, no reassignment', 90)
def _():
    k = ck()
    t, g = mk(2), name('g')
    cf = conf(group_id=g, auto_offset_reset='earliest', session_timeout_ms=30000, enable_auto_commit=False)
    cf['group.instance.id'] = 'inst-1'
    c = k.Consumer(cf)
    c.subscribe([t])
    until(lambda: (c.poll(0.2), len(c.assignment()) == 2)[1], 30, 'assigned')
    d1 = adm().describe_consumer_groups([g])[g].result(20)
    c.close()
    time.sleep(0.5)
    d2 = adm().describe_consumer_groups([g])[g].result(20)
    eq(len(d2.members), 1, 'static member stays after close')
    eq(d2.members[0].group_instance_id, 'inst-1')
    c = k.Consumer(cf)
    c.subscribe([t])
    t0 = time.time()
    until(lambda: (c.poll(0.2), len(c.assignment()) == 2)[1], 30, 'assigned again')
    c.close()
    assert d1.members[0].group_instance_id == 'inst-1'


@check('confluent', 'dead member expelled after its session timeout', 60)
def _():
    k = ck()
    t, g = mk(2), name('g')
    pid = os.fork()
    if pid == 0:  # a member that is killed, never leaves
        try:
            c = k.Consumer(conf(group_id=g, session_timeout_ms=6000))
            c.subscribe([t])
            while True:
                c.poll(0.2)
        finally:
            os._exit(0)
    try:
        st = lambda: adm().describe_consumer_groups([g])[g].result(20)
        until(lambda: len(st().members) == 1 and st().state.name == 'STABLE', 30, 'member in')
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    t0 = time.time()
    until(lambda: len(st().members) == 0, 30, 'member expelled')
    assert time.time() - t0 > 1, 'expelled too early to be the session timeout'


@check('confluent', 'list / describe / offsets of / delete groups')
def _():
    from confluent_kafka import ConsumerGroupTopicPartitions
    k = ck()
    a, t, g = adm(), mk(1), name('g')
    produce(t, [(None, b'x', [])] * 10, part=0)
    c = k.Consumer(conf(group_id=g, auto_offset_reset='earliest', session_timeout_ms=6000))
    c.subscribe([t])
    drain(c, 10)
    c.commit(asynchronous=False)
    assert g in [x.group_id for x in a.list_consumer_groups(request_timeout=15).result(20).valid]
    d = a.describe_consumer_groups([g])[g].result(20)
    eq((d.state.name, len(d.members), d.partition_assignor), ('STABLE', 1, 'range'), 'described')
    kerr(a.delete_consumer_groups([g])[g], 'NON_EMPTY_GROUP')
    c.close()
    until(lambda: a.describe_consumer_groups([g])[g].result(20).state.name == 'EMPTY', 15, 'group empty')
    r = a.list_consumer_group_offsets([ConsumerGroupTopicPartitions(g)])[g].result(20)
    eq([(p.topic, p.partition, p.offset) for p in r.topic_partitions], [(t, 0, 10)], 'offsets')
    a.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(g, [k.TopicPartition(t, 0, 4)])])[g].result(20)
    r = a.list_consumer_group_offsets([ConsumerGroupTopicPartitions(g)])[g].result(20)
    eq(r.topic_partitions[0].offset, 4, 'altered')
    a.delete_consumer_groups([g])[g].result(20)
    assert g not in [x.group_id for x in a.list_consumer_groups().result(20).valid]
    kerr(a.delete_consumer_groups([g])[g], 'GROUP_ID_NOT_FOUND')


def committed_vs_not(t):
    ru = [m.value() for m in read(t, isolation_level='read_uncommitted')]
    rc = [m.value() for m in read(t, isolation_level='read_committed')]
    return ru, rc


@check('confluent', 'transactions: commit, abort, read_committed vs read_uncommitted', 90)
def _():
    k = ck()
    t = mk(1)
    p = k.Producer(conf(transactional_id=name('x')))
    p.init_transactions(20)
    for tag, end in ((b'a', 'commit'), (b'b', 'abort'), (b'c', 'commit')):
        p.begin_transaction()
        for i in range(10):
            p.produce(t, tag + b'%d' % i, partition=0)
        p.flush(20)
        (p.commit_transaction if end == 'commit' else p.abort_transaction)(20)
    ru, rc = committed_vs_not(t)
    eq(len(ru), 30, 'uncommitted sees all')
    eq(rc, [b'a%d' % i for i in range(10)] + [b'c%d' % i for i in range(10)], 'committed')


@check('confluent', 'transactions: open one holds the last stable offset', 90)
def _():
    from confluent_kafka.admin import OffsetSpec
    k = ck()
    t = mk(1)
    produce(t, [(None, b'plain', [])], part=0)
    p = k.Producer(conf(transactional_id=name('x')))
    p.init_transactions(20)
    p.begin_transaction()
    p.produce(t, b'open', partition=0)
    p.flush(20)
    produce(t, [(None, b'after', [])], part=0)
    ru, rc = committed_vs_not(t)
    eq((ru, rc), ([b'plain', b'open', b'after'], [b'plain']), 'while open')
    tp = k.TopicPartition(t, 0)
    lo = lambda iso: list(adm().list_offsets({tp: OffsetSpec.latest()}, isolation_level=iso).values())[0].result(20).offset
    eq((lo(k.IsolationLevel.READ_COMMITTED), lo(k.IsolationLevel.READ_UNCOMMITTED)), (1, 3), 'LSO, HW')
    p.abort_transaction(20)
    ru, rc = committed_vs_not(t)
    eq((ru, rc), ([b'plain', b'open', b'after'], [b'plain', b'after']), 'after abort')


@check('confluent', 'transactions: consume-transform-produce with offsets in the transaction', 90)
def _():
    k = ck()
    src, dst, g = mk(1), mk(1), name('g')
    produce(src, [(None, b'%d' % i, []) for i in range(20)], part=0)
    c = k.Consumer(conf(group_id=g, auto_offset_reset='earliest', enable_auto_commit=False, isolation_level='read_committed'))
    c.subscribe([src])
    p = k.Producer(conf(transactional_id=name('x')))
    p.init_transactions(20)
    for end in ('abort', 'commit'):
        ms = drain(c, 10)
        p.begin_transaction()
        for m in ms:
            p.produce(dst, b'out-' + m.value(), partition=0)
        p.send_offsets_to_transaction([k.TopicPartition(src, 0, ms[-1].offset() + 1)], c.consumer_group_metadata(), 20)
        if end == 'abort':
            p.abort_transaction(20)
            eq(c.committed([k.TopicPartition(src, 0)], timeout=10)[0].offset, k.OFFSET_INVALID, 'nothing committed by abort')
        else:
            p.commit_transaction(20)
            eq(c.committed([k.TopicPartition(src, 0)], timeout=10)[0].offset, 20, 'committed by transaction')
    c.close()
    eq([m.value() for m in read(dst, isolation_level='read_committed')], [b'out-%d' % i for i in range(10, 20)])


@check('confluent', 'transactions: a second producer with the id fences the first', 90)
def _():
    k = ck()
    t, x = mk(1), name('x')
    p1 = k.Producer(conf(transactional_id=x))
    p1.init_transactions(20)
    p1.begin_transaction()
    p1.produce(t, b'zombie', partition=0)
    p1.flush(20)
    p2 = k.Producer(conf(transactional_id=x))
    p2.init_transactions(30)
    p2.begin_transaction()
    p2.produce(t, b'live', partition=0)
    p2.commit_transaction(20)
    try:
        p1.commit_transaction(20)
        raise AssertionError('zombie committed')
    except k.KafkaException as e:
        assert e.args[0].fatal() or e.args[0].code() in (k.KafkaError._FENCED, k.KafkaError.PRODUCER_FENCED, k.KafkaError.INVALID_PRODUCER_EPOCH), e
    eq([m.value() for m in read(t, isolation_level='read_committed')], [b'live'])


@check('confluent', 'transactions: many partitions in one transaction, atomic', 90)
def _():
    k = ck()
    ts = [mk(3), mk(2)]
    p = k.Producer(conf(transactional_id=name('x')))
    p.init_transactions(20)
    p.begin_transaction()
    for t, n in zip(ts, (3, 2)):
        for i in range(30):
            p.produce(t, b'%d' % i, partition=i % n)
    p.commit_transaction(20)
    for t, n in zip(ts, (3, 2)):
        eq(len(read(t, parts=range(n), isolation_level='read_committed')), 30)


@check('confluent', 'describe and incrementally alter topic configs')
def _():
    from confluent_kafka.admin import ConfigResource, ConfigEntry, AlterConfigOpType, ResourceType
    a, t = adm(), mk(1, {'retention.ms': '123456'})
    res = lambda: ConfigResource(ResourceType.TOPIC, t)
    get = lambda: list(a.describe_configs([res()], request_timeout=15).values())[0].result(20)
    c = get()
    eq(c['retention.ms'].value, '123456')
    for key in ('cleanup.policy', 'max.message.bytes', 'segment.bytes', 'min.insync.replicas', 'compression.type', 'message.timestamp.type'):
        assert key in c, f'{key} described'
    eq((c['cleanup.policy'].value, c['cleanup.policy'].is_default), ('delete', True), 'default')

    def alter(op, k, v):
        r = ConfigResource(ResourceType.TOPIC, t, incremental_configs=[ConfigEntry(k, v, incremental_operation=op)])
        return list(a.incremental_alter_configs([r], request_timeout=15).values())[0]
    alter(AlterConfigOpType.SET, 'retention.ms', '777').result(20)
    until(lambda: get()['retention.ms'].value == '777', 10, 'altered')
    alter(AlterConfigOpType.APPEND, 'cleanup.policy', 'compact').result(20)
    until(lambda: sorted(get()['cleanup.policy'].value.split(',')) == ['compact', 'delete'], 10, 'appended')
    alter(AlterConfigOpType.DELETE, 'retention.ms', None).result(20)
    until(lambda: get()['retention.ms'].value != '777', 10, 'deleted')
    kerr(alter(AlterConfigOpType.SET, 'retention.ms', 'soon'), 'INVALID_CONFIG')


@check('confluent', 'describe broker configs')
def _():
    from confluent_kafka.admin import ConfigResource, ResourceType
    a = adm()
    b = sorted(a.list_topics(timeout=10).brokers)[0]
    c = list(a.describe_configs([ConfigResource(ResourceType.BROKER, str(b))]).values())[0].result(20)
    assert len(c) > 0, 'no broker configs'


@check('confluent', 'describe topics: ids, leaders')
def _():
    a, t = adm(), mk(3)
    d = a.describe_topics(ck().TopicCollection([t]), request_timeout=15)[t].result(20)
    eq(len(d.partitions), 3)
    assert d.topic_id is not None and all(p.leader is not None for p in d.partitions)
    x = name('absent')
    kerr(a.describe_topics(ck().TopicCollection([x]))[x], 'UNKNOWN_TOPIC_OR_PART')


@check('confluent', 'delete records moves the log start')
def _():
    k = ck()
    a, t = adm(), mk(1)
    produce(t, [(None, b'%d' % i, []) for i in range(100)], part=0)
    r = list(a.delete_records([k.TopicPartition(t, 0, 30)], request_timeout=15).values())[0].result(20)
    eq(r.low_watermark, 30)
    c = k.Consumer(conf(group_id=name('g')))
    eq(c.get_watermark_offsets(k.TopicPartition(t, 0), timeout=10), (30, 100))
    c.close()
    ms = read(t)
    eq((ms[0].offset(), len(ms)), (30, 70), 'read from the new start')
    kerr(list(a.delete_records([k.TopicPartition(t, 0, 5000)]).values())[0], 'OFFSET_OUT_OF_RANGE')
    r = list(a.delete_records([k.TopicPartition(t, 0, k.OFFSET_END)]).values())[0].result(20)
    eq(r.low_watermark, 100, 'delete all')


@check('confluent', 'elect leaders answers (election not needed)')
def _():
    from confluent_kafka import ElectionType
    k = ck()
    t = mk(1)
    r = adm().elect_leaders(ElectionType.PREFERRED, [k.TopicPartition(t, 0)]).result(20)
    e = list(r.values())[0]
    assert e is None or e.code() == k.KafkaError.ELECTION_NOT_NEEDED, e


@check('confluent', 'SCRAM credentials: upsert, describe, delete')
def _():
    from confluent_kafka.admin import UserScramCredentialUpsertion, UserScramCredentialDeletion, ScramCredentialInfo, ScramMechanism
    a, u = adm(), name('u')
    a.alter_user_scram_credentials([UserScramCredentialUpsertion(u, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b'secret')])[u].result(20)
    d = a.describe_user_scram_credentials([u])[u].result(20)
    eq([(i.mechanism, i.iterations) for i in d.scram_credential_infos], [(ScramMechanism.SCRAM_SHA_256, 4096)])
    a.alter_user_scram_credentials([UserScramCredentialDeletion(u, ScramMechanism.SCRAM_SHA_256)])[u].result(20)
    kerr(a.describe_user_scram_credentials([u])[u], 'RESOURCE_NOT_FOUND')


@check('confluent', 'ACLs: create/describe/delete, or a clean SECURITY_DISABLED')
def _():
    from confluent_kafka.admin import AclBinding, AclBindingFilter, ResourceType, ResourcePatternType, AclOperation, AclPermissionType
    k = ck()
    a, t = adm(), mk(1)
    b = AclBinding(ResourceType.TOPIC, t, ResourcePatternType.LITERAL, 'User:x', '*', AclOperation.READ, AclPermissionType.ALLOW)
    try:
        a.create_acls([b])[b].result(20)
    except k.KafkaException as e:
        if e.args[0].code() == k.KafkaError.SECURITY_DISABLED:
            return
        raise
    f = AclBindingFilter(ResourceType.TOPIC, t, ResourcePatternType.LITERAL, None, None, AclOperation.ANY, AclPermissionType.ANY)
    eq(len(a.describe_acls(f).result(20)), 1)
    eq(len(a.delete_acls([f])[f].result(20)), 1)


@check('confluent', 'delete topic, then it is unknown, then recreate empty')
def _():
    a, t = adm(), mk(1)
    produce(t, [(None, b'old', [])] * 3, part=0)
    a.delete_topics([t], request_timeout=15)[t].result(20)
    until(lambda: t not in a.list_topics(timeout=5).topics, 15, 'gone')
    kerr(a.delete_topics([t])[t], 'UNKNOWN_TOPIC_OR_PART')
    mk(1, topic=t)
    produce(t, [(None, b'new', [])], part=0)
    eq([(m.offset(), m.value()) for m in read(t)], [(0, b'new')])


@check('confluent', 'compacted topic refuses a record with a null key')
def _():
    k = ck()
    t = mk(1, {'cleanup.policy': 'compact'})
    p = k.Producer(conf())
    e = []
    p.produce(t, b'v', key=None, partition=0, on_delivery=lambda err, m: e.append(err))
    p.flush(20)
    assert e and e[0] is not None and e[0].code() == k.KafkaError.INVALID_RECORD, e
    produce(t, [(b'k', b'v', [])], part=0)


@check('confluent', '64 partitions, 64 topics, 6400 records')
def _():
    from confluent_kafka.admin import NewTopic
    a, t = adm(), mk(64)
    ns = [name('m') for _ in range(64)]
    for f in a.create_topics([NewTopic(n, 1, RF) for n in ns], request_timeout=30).values():
        f.result(40)
    produce(t, [(b'%d' % i, b'%d' % i, []) for i in range(6400)])
    eq(len(read(t, parts=range(64))), 6400)


# ------------------------------------------------------------------ kafka-python
def kp_recs(n=200):
    return [(k, v, [(a, b) for a, b in h if b is not None]) for k, v, h in records(n, 2)]


def kp_admin():
    from kafka import KafkaAdminClient
    return KafkaAdminClient(bootstrap_servers=B)


def _kp_codec(codec):
    from kafka import KafkaProducer, KafkaConsumer, TopicPartition
    t = mk(1)
    recs = kp_recs()
    p = KafkaProducer(bootstrap_servers=B, compression_type=None if codec == 'none' else codec, linger_ms=50, acks='all')
    fs = [p.send(t, value=v, key=k, headers=h, partition=0) for k, v, h in recs]
    p.flush(20)
    eq([f.get(20).offset for f in fs], list(range(len(recs))), 'offsets')
    p.close()
    c = KafkaConsumer(bootstrap_servers=B, auto_offset_reset='earliest', consumer_timeout_ms=8000, enable_auto_commit=False)
    c.assign([TopicPartition(t, 0)])
    c.seek_to_beginning()
    got = []
    for m in c:
        got.append(m)
        if len(got) == len(recs):
            break
    c.close()
    eq(len(got), len(recs), 'count')
    for m, (k, v, h) in zip(got, recs):
        eq((m.key, m.value, list(m.headers)), (k, v, h), f'record {m.offset}')


for _c in CODECS:
    check('kafka-python', f'produce/consume {_c}: keys, nulls, headers, bytes equal')(lambda c=_c: _kp_codec(c))


@check('kafka-python', 'group: read, commit, resume; end/beginning offsets; offsets_for_times')
def _():
    from kafka import KafkaProducer, KafkaConsumer, TopicPartition
    t, g = mk(2), name('g')
    p = KafkaProducer(bootstrap_servers=B)
    for i in range(60):
        p.send(t, value=b'%d' % i, partition=i % 2, timestamp_ms=1_700_000_000_000 + i)
    p.flush(20)
    p.close()
    kw = dict(bootstrap_servers=B, group_id=g, auto_offset_reset='earliest', enable_auto_commit=False, consumer_timeout_ms=10000, session_timeout_ms=10000)
    c = KafkaConsumer(t, **kw)
    got = []
    for m in c:
        got.append((m.partition, m.offset))
        if len(got) == 60:
            break
    eq(len(got), 60)
    c.commit()
    tp = TopicPartition(t, 0)
    eq(c.committed(tp), 30, 'committed')
    eq(c.beginning_offsets([tp])[tp], 0)
    eq(c.end_offsets([tp])[tp], 30)
    eq(c.offsets_for_times({tp: 1_700_000_000_011})[tp].offset, 6, 'offsets_for_times')
    c.close()
    p = KafkaProducer(bootstrap_servers=B)
    p.send(t, value=b'new', partition=1).get(20)
    p.close()
    c = KafkaConsumer(t, **kw)
    m = next(iter(c))
    eq((m.partition, m.offset, m.value), (1, 30, b'new'), 'resumed')
    c.close()


@check('kafka-python', 'idempotent and transactional producer, read_committed', 90)
def _():
    from kafka import KafkaProducer, KafkaConsumer, TopicPartition
    t = mk(1)
    p = KafkaProducer(bootstrap_servers=B, transactional_id=name('x'))
    p.init_transactions()
    for tag, ok in ((b'a', True), (b'b', False), (b'c', True)):
        p.begin_transaction()
        for i in range(5):
            p.send(t, value=tag + b'%d' % i, partition=0)
        p.flush()
        p.commit_transaction() if ok else p.abort_transaction()
    p.close()
    c = KafkaConsumer(bootstrap_servers=B, auto_offset_reset='earliest', consumer_timeout_ms=4000, isolation_level='read_committed', enable_auto_commit=False)
    c.assign([TopicPartition(t, 0)])
    eq([m.value for m in c], [b'a%d' % i for i in range(5)] + [b'c%d' % i for i in range(5)])
    c.close()


@check('kafka-python', 'admin: create, list, describe, delete topic; list groups')
def _():
    from kafka.admin import NewTopic
    a, t = kp_admin(), name()
    a.create_topics([NewTopic(name=t, num_partitions=2, replication_factor=RF)])
    until(lambda: t in a.list_topics(), 15, 'listed')
    d = a.describe_topics([t])
    d = d[0] if isinstance(d, list) else d[t]
    eq(len(d['partitions']), 2)
    (getattr(a, 'list_consumer_groups', None) or a.list_groups)()
    a.delete_topics([t])
    until(lambda: t not in a.list_topics(), 15, 'deleted')
    a.close()


# ------------------------------------------------------------------ aiokafka
def arun(coro):
    return asyncio.run(coro)


def _aio_codec(codec):
    async def go():
        from aiokafka import AIOKafkaProducer, AIOKafkaConsumer, TopicPartition
        t = mk(1)
        recs = kp_recs()
        p = AIOKafkaProducer(bootstrap_servers=B, compression_type=None if codec == 'none' else codec, linger_ms=50, acks='all')
        await p.start()
        fs = [await p.send(t, value=v, key=k, headers=h, partition=0) for k, v, h in recs]
        offs = [(await f).offset for f in fs]
        await p.stop()
        eq(offs, list(range(len(recs))), 'offsets')
        c = AIOKafkaConsumer(bootstrap_servers=B, auto_offset_reset='earliest', enable_auto_commit=False)
        await c.start()
        c.assign([TopicPartition(t, 0)])
        got = []
        while len(got) < len(recs):
            got.append(await asyncio.wait_for(c.getone(), 10))
        await c.stop()
        for m, (k, v, h) in zip(got, recs):
            eq((m.key, m.value, list(m.headers)), (k, v, h), f'record {m.offset}')
    arun(go())


for _c in CODECS:
    check('aiokafka', f'produce/consume {_c}: keys, nulls, headers, bytes equal')(lambda c=_c: _aio_codec(c))


@check('aiokafka', 'group: two members, rebalance, commit, resume', 90)
def _():
    async def go():
        from aiokafka import AIOKafkaProducer, AIOKafkaConsumer, TopicPartition
        t, g = mk(4), name('g')
        kw = dict(bootstrap_servers=B, group_id=g, auto_offset_reset='earliest', enable_auto_commit=False, session_timeout_ms=10000, heartbeat_interval_ms=500, metadata_max_age_ms=5000)
        c1, c2 = AIOKafkaConsumer(t, **kw), AIOKafkaConsumer(t, **kw)
        await c1.start()
        await c2.start()
        seen = {}

        async def loop(c):
            while True:
                for tp, ms in (await c.getmany(timeout_ms=200)).items():
                    for m in ms:
                        seen[(m.partition, m.offset)] = m.value
        ts = [asyncio.ensure_future(loop(c)) for c in (c1, c2)]
        for _ in range(150):
            if len(c1.assignment()) == 2 and len(c2.assignment()) == 2:
                break
            await asyncio.sleep(0.2)
        eq((len(c1.assignment()), len(c2.assignment())), (2, 2), 'balanced')
        p = AIOKafkaProducer(bootstrap_servers=B)
        await p.start()
        for i in range(200):
            await p.send_and_wait(t, b'%d' % i, partition=i % 4)
        for _ in range(100):
            if len(seen) == 200:
                break
            await asyncio.sleep(0.1)
        eq(len(seen), 200, 'all seen')
        for x in ts:
            x.cancel()
        await asyncio.gather(*ts, return_exceptions=True)
        await c1.commit()
        await c2.commit()
        await c1.stop()
        await c2.stop()
        await p.send_and_wait(t, b'new', partition=3)
        await p.stop()
        c = AIOKafkaConsumer(t, **kw)
        await c.start()
        m = await asyncio.wait_for(c.getone(), 20)
        eq((m.partition, m.offset, m.value), (3, 50, b'new'), 'resumed')
        await c.stop()
    arun(go())


@check('aiokafka', 'transactional producer, offsets in the transaction, read_committed', 90)
def _():
    async def go():
        from aiokafka import AIOKafkaProducer, AIOKafkaConsumer, TopicPartition
        t, src, g = mk(1), mk(1), name('g')
        p = AIOKafkaProducer(bootstrap_servers=B, transactional_id=name('x'))
        await p.start()
        for tag, ok in ((b'a', True), (b'b', False), (b'c', True)):
            await p.begin_transaction()
            for i in range(5):
                await p.send_and_wait(t, tag + b'%d' % i, partition=0)
            if ok:
                await p.send_offsets_to_transaction({TopicPartition(src, 0): 5 if tag == b'a' else 9}, g)
                await p.commit_transaction()
            else:
                await p.abort_transaction()
        await p.stop()
        c = AIOKafkaConsumer(bootstrap_servers=B, auto_offset_reset='earliest', isolation_level='read_committed', group_id=g, enable_auto_commit=False)
        await c.start()
        c.assign([TopicPartition(t, 0), TopicPartition(src, 0)])
        await c.seek_to_beginning(TopicPartition(t, 0))
        got = []
        while len(got) < 10:
            got.append((await asyncio.wait_for(c.getone(TopicPartition(t, 0)), 10)).value)
        eq(got, [b'a%d' % i for i in range(5)] + [b'c%d' % i for i in range(5)])
        eq(await c.committed(TopicPartition(src, 0)), 9, 'offset committed')
        await c.stop()
    arun(go())


@check('aiokafka', 'admin: create, describe, configs, delete topic; describe group')
def _():
    async def go():
        from aiokafka.admin import AIOKafkaAdminClient, NewTopic
        from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
        a, t = AIOKafkaAdminClient(bootstrap_servers=B), name()
        await a.start()
        await a.create_topics([NewTopic(name=t, num_partitions=2, replication_factor=RF)])
        for _ in range(50):
            if t in await a.list_topics():
                break
            await asyncio.sleep(0.2)
        assert t in await a.list_topics()
        eq(len((await a.describe_topics([t]))[0]['partitions']), 2)
        await a.describe_configs([ConfigResource(ConfigResourceType.TOPIC, t)])
        await a.list_consumer_groups()
        await a.delete_topics([t])
        for _ in range(50):
            if t not in await a.list_topics():
                break
            await asyncio.sleep(0.2)
        assert t not in await a.list_topics()
        await a.close()
    arun(go())


# ------------------------------------------------------------------ runner
def isolated(f, tmo):
    """Run one check in a forked child: a client library that aborts or hangs fails that check only.
    Returns None, or why it failed. The parent never opens a client, so the fork is safe."""
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        msg = 'ok'
        try:
            os.close(r)
            f()
        except BaseException as e:  # noqa
            msg = f'{type(e).__name__}: {e}' + ('\n' + traceback.format_exc() if A.v else '')
        try:
            os.write(w, msg.encode()[:60000])
        finally:
            os._exit(0)
    os.close(w)
    os.set_blocking(r, False)
    end = time.time() + tmo
    out, st = b'', None
    while time.time() < end:
        try:
            d = os.read(r, 65536)
            if d:
                out += d
        except BlockingIOError:
            pass
        p, s = os.waitpid(pid, os.WNOHANG)
        if p:
            st = s
            break
        if out:
            time.sleep(0.02)
        time.sleep(0.02)
    if st is None:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    else:
        try:
            out += os.read(r, 65536)
        except BlockingIOError:
            pass
    os.close(r)
    if out == b'ok':
        return None
    if out:
        return out.decode(errors='replace')
    if st is None:
        return f'no answer in {tmo}s'
    return f'client process died: signal {os.WTERMSIG(st)}' if os.WIFSIGNALED(st) else f'client process exit {os.WEXITSTATUS(st)}'


def main():
    import logging
    logging.disable(logging.CRITICAL)
    libs = A.lib.split(',')
    only = [x for x in A.only.split(',') if x]
    import importlib.metadata as md
    vers = {}
    for lib, pkg in (('confluent', 'confluent-kafka'), ('kafka-python', 'kafka-python'), ('aiokafka', 'aiokafka')):
        if lib in libs:
            try:
                vers[lib] = md.version(pkg)
            except Exception:
                vers[lib] = 'absent'
    print(f'broker {B}; ' + ', '.join(f'{k} {v}' for k, v in vers.items()), flush=True)
    skips = {}
    if A.skip:
        with open(A.skip) as f:
            skips = dict(line.rstrip('\n').split(' -- ', 1) for line in f if ' -- ' in line)
    ok = bad = 0
    for lib, title, f, tmo in CHECKS:
        if lib not in libs or (only and not any(o in f'{lib}: {title}' for o in only)):
            continue
        if vers.get(lib) == 'absent':
            continue
        if f'{lib}: {title}' in skips:
            print(f"SKIP {lib}: {title} -- {skips[f'{lib}: {title}']}", flush=True)
            continue
        t0 = time.time()
        why = isolated(f, tmo or A.timeout)
        dt = time.time() - t0
        if why is None:
            ok += 1
            print(f'PASS {lib}: {title} ({dt:.1f}s)', flush=True)
        else:
            bad += 1
            print(f"FAIL {lib}: {title} ({dt:.1f}s) -- {' '.join(why.split())[:300] if not A.v else why}", flush=True)
    print(f'{ok} passed, {bad} failed', flush=True)
    os._exit(1 if bad else 0)


main()
