// JavaClients BROKER [--only SUBSTR] [--rf N] [--skip FILE]: conformance checks with Apache Kafka's own Java client, 3.9 and later.
//   javac -cp 'jars/*' -d classes JavaClients.java && java -cp 'classes:jars/*' JavaClients 127.0.0.1:9092
// FILE has lines 'NAME -- WHY': checks to leave out, each named as SKIP.
// Prints PASS/FAIL per check, closes with 'N passed, N failed'; exit code 1 if any failed.
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.*;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.stream.*;

public class JavaClients {
    interface Body { void run() throws Exception; }
    record Check(String title, int secs, Body body) {}
    static final List<Check> checks = new ArrayList<>();
    static String broker = "127.0.0.1:9092", only = "";
    static short rf = 1;
    static final String run = Integer.toHexString(new Random().nextInt());
    static final AtomicInteger seq = new AtomicInteger();
    static Admin admin;
    static final Map<String, String> skips = new HashMap<>();

    static String name(String p) { return "java-" + run + "-" + seq.incrementAndGet() + "-" + p; }
    static void check(String t, int secs, Body b) { checks.add(new Check(t, secs, b)); }
    static void eq(Object got, Object want, String what) { if (!Objects.equals(got, want)) throw new AssertionError(what + ": got " + got + " want " + want); }
    static <T> T get(KafkaFuture<T> f) throws Exception {
        try { return f.get(20, TimeUnit.SECONDS); } catch (ExecutionException e) { if (e.getCause() instanceof Exception x) throw x; throw e; }
    }
    static void fails(Class<? extends Throwable> c, Body b) throws Exception {
        try { b.run(); } catch (Throwable e) { Throwable x = e instanceof ExecutionException ? e.getCause() : e; if (c.isInstance(x)) return; throw new AssertionError("want " + c.getSimpleName() + " got " + x); }
        throw new AssertionError("succeeded, want " + c.getSimpleName());
    }
    static void until(String what, int ms, Callable<Boolean> f) throws Exception {
        long end = System.currentTimeMillis() + ms; Object last = null;
        while (System.currentTimeMillis() < end) { try { if (f.call()) return; } catch (Exception e) { last = e; } Thread.sleep(100); }
        throw new AssertionError(what + " not met in " + ms + " ms" + (last == null ? "" : "; last " + last));
    }
    static String mk(int parts, Map<String, String> cfg) throws Exception {
        String t = name("t");
        get(admin.createTopics(List.of(new NewTopic(t, parts, rf).configs(cfg))).all());
        until("topic visible", 10000, () -> get(admin.describeTopics(List.of(t)).allTopicNames()).get(t).partitions().size() == parts);
        return t;
    }
    static String mk(int parts) throws Exception { return mk(parts, Map.of()); }
    static Map<String, Object> props(Object... kv) {
        Map<String, Object> m = new HashMap<>(Map.of("bootstrap.servers", broker, "request.timeout.ms", 10000, "default.api.timeout.ms", 20000));
        for (int i = 0; i < kv.length; i += 2) m.put((String) kv[i], kv[i + 1]);
        return m;
    }
    static KafkaProducer<byte[], byte[]> producer(Object... kv) { Map<String, Object> m = props(kv); m.putIfAbsent("delivery.timeout.ms", 20000); m.putIfAbsent("max.block.ms", 20000); return new KafkaProducer<>(m, new ByteArraySerializer(), new ByteArraySerializer()); }
    static KafkaConsumer<byte[], byte[]> consumer(Object... kv) { Map<String, Object> m = props(kv); m.putIfAbsent("auto.offset.reset", "earliest"); m.putIfAbsent("enable.auto.commit", "false"); return new KafkaConsumer<>(m, new ByteArrayDeserializer(), new ByteArrayDeserializer()); }
    static List<ConsumerRecord<byte[], byte[]>> read(String t, int parts, Object... kv) {
        try (KafkaConsumer<byte[], byte[]> c = consumer(kv)) {
            List<TopicPartition> tps = IntStream.range(0, parts).mapToObj(p -> new TopicPartition(t, p)).toList();
            c.assign(tps); c.seekToBeginning(tps);
            Map<TopicPartition, Long> end = c.endOffsets(tps);
            List<ConsumerRecord<byte[], byte[]>> out = new ArrayList<>();
            long stop = System.currentTimeMillis() + 20000;
            while (System.currentTimeMillis() < stop) {
                boolean done = true;
                for (TopicPartition tp : tps) if (c.position(tp) < end.get(tp)) done = false;
                if (done) return out;
                for (ConsumerRecord<byte[], byte[]> r : c.poll(Duration.ofMillis(200))) out.add(r);
            }
            throw new AssertionError("read stopped at " + out.size());
        }
    }
    static List<String> values(String t, String iso) { return read(t, 1, "isolation.level", iso).stream().map(r -> new String(r.value())).toList(); }
    static void send(String t, int p, int n, Object... kv) throws Exception {
        try (KafkaProducer<byte[], byte[]> x = producer(kv)) { List<Future<RecordMetadata>> f = new ArrayList<>(); for (int i = 0; i < n; i++) f.add(x.send(new ProducerRecord<>(t, p, null, ("v" + i).getBytes()))); for (var g : f) g.get(20, TimeUnit.SECONDS); }
    }

    static void codec(String codec, Object... kv) throws Exception {
        String t = mk(1);
        Random r = new Random(7);
        List<ProducerRecord<byte[], byte[]>> recs = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            byte[] rnd = new byte[i % 400]; r.nextBytes(rnd);
            byte[] key = switch (i % 4) { case 0 -> null; case 1 -> new byte[0]; case 2 -> ("k" + i % 13).getBytes(); default -> rnd; };
            byte[] val = switch (i % 5) { case 0 -> null; case 1 -> new byte[0]; case 2 -> ("v" + i + "x".repeat(i)).getBytes(); default -> rnd; };
            List<Header> h = switch (i % 3) { case 0 -> List.of(); case 1 -> List.of(new RecordHeader("h", new byte[]{1}), new RecordHeader("h", new byte[]{2})); default -> List.of(new RecordHeader("n", (byte[]) null), new RecordHeader("e", new byte[0])); };
            recs.add(new ProducerRecord<>(t, 0, 1700000000000L + i, key, val, h));
        }
        Object[] all = Stream.concat(Stream.of("compression.type", codec, "linger.ms", 50), Arrays.stream(kv)).toArray();
        try (var p = producer(all)) {
            List<Future<RecordMetadata>> f = new ArrayList<>();
            for (var x : recs) f.add(p.send(x));
            for (int i = 0; i < f.size(); i++) eq(f.get(i).get(20, TimeUnit.SECONDS).offset(), (long) i, "offset");
        }
        var got = read(t, 1);
        eq(got.size(), recs.size(), "count");
        for (int i = 0; i < recs.size(); i++) {
            var g = got.get(i); var w = recs.get(i);
            if (!Arrays.equals(g.key(), w.key()) || !Arrays.equals(g.value(), w.value())) throw new AssertionError("bytes of " + i);
            eq(Arrays.asList(g.headers().toArray()), Arrays.asList(w.headers().toArray()), "headers of " + i);
            eq(g.timestamp(), w.timestamp(), "timestamp");
            eq(g.leaderEpoch().isPresent(), true, "leader epoch given");
        }
    }

    static void group(String protocol) throws Exception {
        String t = mk(6), g = name("g");
        List<Object> kv = new ArrayList<>(List.of("group.id", g, "group.protocol", protocol, "enable.auto.commit", "true", "auto.commit.interval.ms", 200));
        if (protocol.equals("classic")) kv.addAll(List.of("session.timeout.ms", 6000, "heartbeat.interval.ms", 500));
        ConcurrentMap<String, Integer> seen = new ConcurrentHashMap<>();
        AtomicReferenceArray<Integer> own = new AtomicReferenceArray<>(new Integer[]{0, 0});
        AtomicBoolean[] stop = {new AtomicBoolean(), new AtomicBoolean()};
        Thread[] th = new Thread[2];
        for (int i = 0; i < 2; i++) {
            int me = i;
            th[i] = new Thread(() -> {
                try (var c = consumer(kv.toArray())) {
                    c.subscribe(List.of(t));
                    while (!stop[me].get()) { for (var r : c.poll(Duration.ofMillis(200))) seen.merge(r.partition() + ":" + r.offset(), 1, Integer::sum); own.set(me, c.assignment().size()); }
                }
                own.set(me, 0);
            });
            th[i].setDaemon(true); th[i].start();
        }
        try {
            until("balanced 3/3", 45000, () -> own.get(0) == 3 && own.get(1) == 3);
            for (int p = 0; p < 6; p++) send(t, p, 50);
            until("all 300 seen", 20000, () -> seen.size() == 300);
            var d = get(admin.describeConsumerGroups(List.of(g)).all()).get(g);
            eq(d.members().size(), 2, "members");
            eq(d.members().stream().mapToInt(m -> m.assignment().topicPartitions().size()).sum(), 6, "assigned");
            Thread.sleep(600);
            stop[1].set(true); th[1].join(15000);
            until("survivor has 6", 30000, () -> own.get(0) == 6);
            for (int p = 0; p < 6; p++) send(t, p, 10);
            until("all 360 seen", 20000, () -> seen.size() == 360);
            eq(Collections.max(seen.values()), 1, "no duplicates");
        } finally { for (int i = 0; i < 2; i++) { stop[i].set(true); th[i].join(15000); } }
        until("offsets committed", 10000, () -> get(admin.listConsumerGroupOffsets(g).partitionsToOffsetAndMetadata()).values().stream().mapToLong(o -> o.offset()).sum() == 360);
    }

    public static void main(String[] a) throws Exception {
        for (int i = 0; i < a.length; i++) { if (a[i].equals("--only")) only = a[++i]; else if (a[i].equals("--skip")) for (String l : Files.readAllLines(Path.of(a[++i]))) { String[] p = l.split(" -- ", 2); if (p.length == 2) skips.put(p[0], p[1]); } else if (a[i].equals("--rf")) rf = Short.parseShort(a[++i]); else broker = a[i]; }
        admin = Admin.create(props());
        for (String c : List.of("none", "gzip", "snappy", "lz4", "zstd")) check("produce/consume " + c + ": keys, nulls, headers, timestamps equal", 60, () -> codec(c));
        check("non-idempotent, acks=1", 60, () -> codec("lz4", "enable.idempotence", "false", "acks", "1"));
        check("describe cluster and features", 30, () -> { var d = admin.describeCluster(); if (get(d.nodes()).isEmpty() || get(d.clusterId()).isEmpty()) throw new AssertionError(); get(d.controller()); get(admin.describeFeatures().featureMetadata()); });
        check("topic errors: exists, invalid name, replication, unknown", 30, () -> {
            String t = mk(1);
            fails(TopicExistsException.class, () -> get(admin.createTopics(List.of(new NewTopic(t, 1, rf))).all()));
            fails(InvalidTopicException.class, () -> get(admin.createTopics(List.of(new NewTopic("bad name!", 1, rf))).all()));
            fails(InvalidReplicationFactorException.class, () -> get(admin.createTopics(List.of(new NewTopic(name("t"), 1, (short) 99))).all()));
            fails(UnknownTopicOrPartitionException.class, () -> get(admin.describeTopics(List.of(name("absent"))).allTopicNames()));
            fails(UnknownTopicOrPartitionException.class, () -> get(admin.deleteTopics(List.of(name("absent"))).all()));
        });
        check("delete topic by id; topic ids differ when recreated", 30, () -> {
            String t = mk(1); Uuid id = get(admin.describeTopics(List.of(t)).allTopicNames()).get(t).topicId();
            get(admin.deleteTopics(TopicCollection.ofTopicIds(List.of(id))).all());
            until("gone", 10000, () -> !get(admin.listTopics().names()).contains(t));
            get(admin.createTopics(List.of(new NewTopic(t, 1, rf))).all());
            until("new id", 10000, () -> !get(admin.describeTopics(List.of(t)).allTopicNames()).get(t).topicId().equals(id));
        });
        check("configs: describe, set, append, delete, invalid", 30, () -> {
            String t = mk(1, Map.of("retention.ms", "1000000")); ConfigResource r = new ConfigResource(ConfigResource.Type.TOPIC, t);
            Callable<Config> d = () -> get(admin.describeConfigs(List.of(r)).all()).get(r);
            eq(d.call().get("retention.ms").value(), "1000000", "as created"); eq(d.call().get("retention.ms").source(), ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG, "source");
            get(admin.incrementalAlterConfigs(Map.of(r, List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "5"), AlterConfigOp.OpType.SET), new AlterConfigOp(new ConfigEntry("cleanup.policy", "compact"), AlterConfigOp.OpType.APPEND)))).all());
            until("altered", 10000, () -> d.call().get("retention.ms").value().equals("5") && d.call().get("cleanup.policy").value().contains("compact"));
            get(admin.incrementalAlterConfigs(Map.of(r, List.of(new AlterConfigOp(new ConfigEntry("retention.ms", ""), AlterConfigOp.OpType.DELETE)))).all());
            until("deleted", 10000, () -> d.call().get("retention.ms").isDefault());
            fails(InvalidConfigurationException.class, () -> get(admin.incrementalAlterConfigs(Map.of(r, List.of(new AlterConfigOp(new ConfigEntry("retention.ms", "soon"), AlterConfigOp.OpType.SET)))).all()));
        });
        check("listOffsets: earliest, latest, max timestamp, by timestamp; deleteRecords", 30, () -> {
            String t = mk(1); TopicPartition tp = new TopicPartition(t, 0); long b = 1700000000000L;
            try (var p = producer()) { for (long ts : new long[]{b, b + 50, b + 20, b + 90, b + 70}) p.send(new ProducerRecord<>(t, 0, ts, null, "x".getBytes())).get(); }
            BiFunc o = s -> get(admin.listOffsets(Map.of(tp, s)).all()).get(tp).offset();
            eq(o.f(OffsetSpec.earliest()), 0L, "earliest"); eq(o.f(OffsetSpec.latest()), 5L, "latest"); eq(o.f(OffsetSpec.maxTimestamp()), 3L, "max timestamp"); eq(o.f(OffsetSpec.forTimestamp(b + 60)), 3L, "by timestamp"); eq(o.f(OffsetSpec.forTimestamp(b + 20)), 1L, "by timestamp, first at or after");
            eq(get(admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(2))).all() == null ? null : admin.deleteRecords(Map.of(tp, RecordsToDelete.beforeOffset(2))).lowWatermarks().get(tp)).lowWatermark(), 2L, "low watermark");
            eq(o.f(OffsetSpec.earliest()), 2L, "earliest after delete"); eq(read(t, 1).get(0).offset(), 2L, "read from the new start");
        });
        check("group classic protocol: two members, one leaves, exactly once each", 120, () -> group("classic"));
        check("group consumer protocol (KIP-848): two members, one leaves, exactly once each", 120, () -> group("consumer"));
        check("commit and committed, offset reset none, seek", 60, () -> {
            String t = mk(1), g = name("g"); send(t, 0, 20); TopicPartition tp = new TopicPartition(t, 0);
            try (var c = consumer("group.id", g)) {
                eq(c.committed(Set.of(tp)).get(tp), null, "nothing committed");
                c.assign(List.of(tp)); c.commitSync(Map.of(tp, new OffsetAndMetadata(7, Optional.of(0), "meta")));
                eq(c.committed(Set.of(tp)).get(tp).offset(), 7L, "committed"); eq(c.committed(Set.of(tp)).get(tp).metadata(), "meta", "metadata");
                eq(c.offsetsForTimes(Map.of(tp, 1L)).get(tp).offset(), 0L, "offsetsForTimes"); eq(c.beginningOffsets(List.of(tp)).get(tp), 0L, "beginning");
            }
            try (var c = consumer("group.id", g)) { c.assign(List.of(tp)); eq(c.position(tp), 7L, "resumes"); }
            try (var c = consumer("auto.offset.reset", "none")) { c.assign(List.of(tp)); c.seek(tp, 999); fails(org.apache.kafka.clients.consumer.OffsetOutOfRangeException.class, () -> { for (int i = 0; i < 50; i++) c.poll(Duration.ofMillis(200)); }); }
        });
        check("list, describe, alter offsets of and delete groups", 60, () -> {
            String t = mk(1), g = name("g"); send(t, 0, 5); TopicPartition tp = new TopicPartition(t, 0);
            try (var c = consumer("group.id", g)) { c.subscribe(List.of(t)); until("read", 20000, () -> !c.poll(Duration.ofMillis(200)).isEmpty()); c.commitSync(); fails(GroupNotEmptyException.class, () -> get(admin.deleteConsumerGroups(List.of(g)).all())); }
            until("empty", 10000, () -> get(admin.describeConsumerGroups(List.of(g)).all()).get(g).state().toString().equals("Empty"));
            if (get(admin.listConsumerGroups().all()).stream().noneMatch(x -> x.groupId().equals(g))) throw new AssertionError("not listed");
            get(admin.alterConsumerGroupOffsets(g, Map.of(tp, new OffsetAndMetadata(2))).all()); eq(get(admin.listConsumerGroupOffsets(g).partitionsToOffsetAndMetadata()).get(tp).offset(), 2L, "altered");
            get(admin.deleteConsumerGroupOffsets(g, Set.of(tp)).all()); get(admin.deleteConsumerGroups(List.of(g)).all());
            fails(GroupIdNotFoundException.class, () -> get(admin.deleteConsumerGroups(List.of(g)).all()));
        });
        check("transactions: commit, abort, isolation levels, offsets, fencing", 90, () -> {
            String t = mk(1), src = mk(1), g = name("g"), x = name("x"); send(src, 0, 10); TopicPartition tp = new TopicPartition(src, 0);
            try (var p = producer("transactional.id", x); var c = consumer("group.id", g)) {
                c.subscribe(List.of(src)); until("read", 20000, () -> !c.poll(Duration.ofMillis(200)).isEmpty());
                p.initTransactions();
                for (String tag : List.of("a", "b", "c")) {
                    p.beginTransaction(); for (int i = 0; i < 3; i++) p.send(new ProducerRecord<>(t, 0, null, (tag + i).getBytes()));
                    p.sendOffsetsToTransaction(Map.of(tp, new OffsetAndMetadata(tag.equals("b") ? 99 : 10)), c.groupMetadata());
                    p.flush(); if (tag.equals("b")) p.abortTransaction(); else p.commitTransaction();
                }
                eq(c.committed(Set.of(tp)).get(tp).offset(), 10L, "offset by transaction");
                p.beginTransaction(); p.send(new ProducerRecord<>(t, 0, null, "zombie".getBytes())); p.flush();
                eq(values(t, "read_committed"), List.of("a0", "a1", "a2", "c0", "c1", "c2"), "committed while one is open");
                if (get(admin.listTransactions().all()).stream().noneMatch(l -> l.transactionalId().equals(x))) throw new AssertionError("transaction not listed");
                eq(get(admin.describeProducers(List.of(new TopicPartition(t, 0))).all()).get(new TopicPartition(t, 0)).activeProducers().stream().filter(s -> s.currentTransactionStartOffset().isPresent()).count(), 1L, "one open producer");
                try (var q = producer("transactional.id", x)) {
                    q.initTransactions(); q.beginTransaction(); q.send(new ProducerRecord<>(t, 0, null, "live".getBytes())); q.commitTransaction();
                    fails(KafkaException.class, p::commitTransaction);
                }
                eq(values(t, "read_committed"), List.of("a0", "a1", "a2", "c0", "c1", "c2", "live"), "committed after fencing");
                eq(values(t, "read_uncommitted").size(), 11, "uncommitted");
            }
        });
        check("record too large, and null key on a compacted topic", 30, () -> {
            String t = mk(1, Map.of("max.message.bytes", "10000")), k = mk(1, Map.of("cleanup.policy", "compact"));
            try (var p = producer()) { fails(RecordTooLargeException.class, () -> p.send(new ProducerRecord<>(t, 0, null, new byte[50000])).get(20, TimeUnit.SECONDS)); fails(InvalidRecordException.class, () -> p.send(new ProducerRecord<>(k, 0, null, "v".getBytes())).get(20, TimeUnit.SECONDS)); p.send(new ProducerRecord<>(k, 0, "k".getBytes(), "v".getBytes())).get(20, TimeUnit.SECONDS); }
        });
        check("log dirs", 30, () -> {
            int id = get(admin.describeCluster().nodes()).iterator().next().id(); get(admin.describeLogDirs(List.of(id)).allDescriptions());
        });
        check("quotas, SCRAM, ACL or security disabled", 30, () -> {
            get(admin.describeUserScramCredentials().all());
            get(admin.describeClientQuotas(org.apache.kafka.common.quota.ClientQuotaFilter.all()).entities());
            try { get(admin.describeAcls(org.apache.kafka.common.acl.AclBindingFilter.ANY).values()); } catch (SecurityDisabledException e) { }
        });
        try { check("share group (KIP-932), or a clean refusal", 60, (Body) Class.forName("ShareGroup").getDeclaredConstructor().newInstance()); } catch (ClassNotFoundException e) { /* not compiled: the client is older */ }
        int ok = 0, bad = 0;
        System.out.println("broker " + broker + "; kafka-clients " + org.apache.kafka.common.utils.AppInfoParser.getVersion() + ", java " + System.getProperty("java.version"));
        for (Check c : checks) {
            if (!c.title.contains(only)) continue;
            if (skips.containsKey("java: " + c.title)) { System.out.println("SKIP java: " + c.title + " -- " + skips.get("java: " + c.title)); continue; }
            long t0 = System.nanoTime();
            FutureTask<Throwable> f = new FutureTask<>(() -> { try { c.body.run(); return null; } catch (Throwable e) { return e; } });
            Thread th = new Thread(f); th.setDaemon(true); th.start();
            Throwable e; try { e = f.get(c.secs, TimeUnit.SECONDS); } catch (java.util.concurrent.TimeoutException x) { e = new AssertionError("no answer in " + c.secs + " s"); }
            String s = String.format(" (%.1fs)", (System.nanoTime() - t0) / 1e9);
            if (e == null) { ok++; System.out.println("PASS java: " + c.title + s); } else { bad++; String m = e.toString().replaceAll("\\s+", " "); System.out.println("FAIL java: " + c.title + s + " -- " + m.substring(0, Math.min(300, m.length()))); }
        }
        System.out.println(ok + " passed, " + bad + " failed");
        System.out.flush();
        Runtime.getRuntime().halt(bad == 0 ? 0 : 1);
    }
    interface BiFunc { Object f(OffsetSpec s) throws Exception; }
}
