// clients.mjs BROKER [--lib kafkajs,platformatic] [--only SUBSTR] [--rf N] [--skip FILE]
// Conformance checks with the two pure-JavaScript Kafka clients: kafkajs and @platformatic/kafka.
// Modules are looked up from $KAFKA_NODE_DIR (a folder with node_modules; default: this file's folder).
// FILE has lines 'NAME -- WHY': checks to leave out, each named as SKIP.
// Prints PASS/FAIL per check, closes with 'N passed, N failed'; exit code 1 if any failed.
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { randomBytes } from 'node:crypto'
import * as zlib from 'node:zlib'
import * as fs from 'node:fs'
import * as path from 'node:path'
import { deepStrictEqual as deq, ok as yes } from 'node:assert'

const args = process.argv.slice(2)
const opt = (n, d) => { const i = args.indexOf('--' + n); return i < 0 ? d : args[i + 1] }
const broker = args[0] && !args[0].startsWith('--') ? args[0] : '127.0.0.1:9092'
const libs = opt('lib', 'kafkajs,platformatic').split(',')
const only = opt('only', '')
const rf = Number(opt('rf', '1'))
const skipFile = opt('skip')
const skips = new Map((skipFile ? fs.readFileSync(skipFile, 'utf8').split('\n') : []).filter(l => l.includes(' -- ')).map(l => l.split(' -- ', 2)))
const here = path.dirname(new URL(import.meta.url).pathname)
const dir = process.env.KAFKA_NODE_DIR ?? [here].find(d => fs.existsSync(path.join(d, 'node_modules/kafkajs')))
const req = createRequire(path.join(dir, 'x.js'))
const run = randomBytes(4).toString('hex')
let seq = 0
const name = (p = 't') => `js-${run}-${++seq}-${p}`
const sleep = ms => new Promise(r => setTimeout(r, ms))
async function until (f, ms = 20000, what = 'condition') {
  const end = Date.now() + ms
  let last
  while (Date.now() < end) {
    try { last = await f(); if (last) return last } catch (e) { last = e }
    await sleep(100)
  }
  throw new Error(`${what} not met in ${ms} ms; last ${last}`)
}
const checks = []
const check = (lib, title, f, ms = 60000) => checks.push({ lib, title, f, ms })
// key, value, headers covering null, empty, binary
function records (n) {
  const out = []
  for (let i = 0; i < n; i++) {
    out.push({
      key: [null, Buffer.from(''), Buffer.from('k' + i % 13), randomBytes(9)][i % 4],
      value: [Buffer.from('v' + i + '-' + 'x'.repeat(i % 300)), Buffer.from(''), null, randomBytes(i % 500 + 1)][i % 4],
      headers: [{}, { h: Buffer.from('1') }, { h: Buffer.from('1'), bin: Buffer.from([0, 255]) }, { empty: Buffer.from('') }][i % 4]
    })
  }
  return out
}
const hex = b => b == null ? null : Buffer.from(b).toString('hex')
const norm = h => Object.fromEntries((h instanceof Map ? [...h] : Object.entries(h ?? {})).map(([k, v]) => [k.toString(), hex(v)]))

// ------------------------------------------------------------------ kafkajs
let kjs
async function kafkajs () {
  if (kjs) return kjs
  const m = req('kafkajs')
  m.CompressionCodecs[m.CompressionTypes.Snappy] = req('kafkajs-snappy')
  try { const L = req('@2l/kafkajs-lz4'); m.CompressionCodecs[m.CompressionTypes.LZ4] = new (L.default ?? L)().codec } catch {}
  if (zlib.zstdCompressSync) {
    m.CompressionCodecs[m.CompressionTypes.ZSTD] = () => ({
      compress: async e => zlib.zstdCompressSync(e.buffer), decompress: async b => zlib.zstdDecompressSync(b)
    })
  }
  kjs = { m, kafka: new m.Kafka({ clientId: 'conf-kafkajs', brokers: [broker], logLevel: m.logLevel.NOTHING, retry: { retries: 3 } }) }
  return kjs
}
async function kjTopic (parts = 1, configEntries = []) {
  const { kafka } = await kafkajs()
  const a = kafka.admin()
  await a.connect()
  const t = name()
  try {
    yes(await a.createTopics({ waitForLeaders: true, topics: [{ topic: t, numPartitions: parts, replicationFactor: rf, configEntries }] }))
  } finally { await a.disconnect() }
  return t
}
async function kjRead (t, n, cfg = {}) {
  const { kafka } = await kafkajs()
  const c = kafka.consumer({ groupId: name('g'), sessionTimeout: 10000, rebalanceTimeout: 10000, heartbeatInterval: 500, ...cfg })
  const out = []
  try {
    await c.connect()
    await c.subscribe({ topics: [t], fromBeginning: true })
    await c.run({ eachMessage: async ({ partition, message }) => { out.push({ partition, ...message }) } })
    await until(() => out.length >= n, 20000, `${n} messages (have ${out.length})`)
    await sleep(300)
  } finally { await c.disconnect() }
  return out
}
for (const [label, type] of [['none', 0], ['gzip', 1], ['snappy', 2], ['lz4', 3], ['zstd', 4]]) {
  check('kafkajs', `produce/consume ${label}: keys, nulls, headers, bytes equal`, async () => {
    const { kafka } = await kafkajs()
    const t = await kjTopic(1)
    const p = kafka.producer()
    await p.connect()
    const recs = records(120)
    for (let i = 0; i < recs.length; i += 40) {
      const r = await p.send({ topic: t, compression: type, acks: -1, messages: recs.slice(i, i + 40).map(x => ({ ...x, partition: 0 })) })
      deq(Number(r[0].baseOffset), i)
    }
    await p.disconnect()
    const got = await kjRead(t, 120)
    deq(got.length, 120)
    got.forEach((m, i) => {
      deq(Number(m.offset), i)
      deq(hex(m.key), hex(recs[i].key)); deq(hex(m.value), hex(recs[i].value)); deq(norm(m.headers), norm(recs[i].headers))
    })
  })
}
check('kafkajs', 'admin: cluster, metadata, offsets, offsets by timestamp, configs, delete records, delete topic', async () => {
  const { m, kafka } = await kafkajs()
  const t = await kjTopic(2, [{ name: 'retention.ms', value: '123456' }])
  const a = kafka.admin()
  await a.connect()
  try {
    const d = await a.describeCluster()
    yes(d.brokers.length >= 1 && d.clusterId)
    deq((await a.fetchTopicMetadata({ topics: [t] })).topics[0].partitions.length, 2)
    const p = kafka.producer()
    await p.connect()
    await p.send({ topic: t, messages: Array.from({ length: 50 }, (_, i) => ({ value: 'v' + i, partition: 0, timestamp: String(1700000000000 + i) })) })
    await p.disconnect()
    const o = (await a.fetchTopicOffsets(t)).sort((x, y) => x.partition - y.partition)
    deq(o.map(x => [x.partition, x.low, x.high]), [[0, '0', '50'], [1, '0', '0']])
    const by = (await a.fetchTopicOffsetsByTimestamp(t, 1700000000020)).find(x => x.partition === 0)
    deq(by.offset, '20')
    const cfg = await a.describeConfigs({ includeSynonyms: false, resources: [{ type: m.ConfigResourceTypes.TOPIC, name: t }] })
    deq(cfg.resources[0].configEntries.find(e => e.configName === 'retention.ms').configValue, '123456')
    await a.deleteTopicRecords({ topic: t, partitions: [{ partition: 0, offset: '10' }] })
    deq((await a.fetchTopicOffsets(t)).find(x => x.partition === 0).low, '10')
    await a.createPartitions({ topicPartitions: [{ topic: t, count: 4 }] })
    await until(async () => (await a.fetchTopicMetadata({ topics: [t] })).topics[0].partitions.length === 4, 10000, '4 partitions')
    await a.deleteTopics({ topics: [t] })
    await until(async () => !(await a.listTopics()).includes(t), 10000, 'topic gone')
  } finally { await a.disconnect() }
})
check('kafkajs', 'group: two members balance, commit, resume; describe, list, delete group', async () => {
  const { kafka } = await kafkajs()
  const t = await kjTopic(4)
  const g = name('g')
  const seen = new Map()
  const asg = [[], []]
  const mk = async i => {
    const c = kafka.consumer({ groupId: g, sessionTimeout: 10000, rebalanceTimeout: 10000, heartbeatInterval: 300, maxWaitTimeInMs: 200 })
    c.on(c.events.GROUP_JOIN, e => { asg[i] = e.payload.memberAssignment[t] ?? [] })
    await c.connect()
    await c.subscribe({ topics: [t], fromBeginning: true })
    await c.run({ autoCommit: true, autoCommitInterval: 200, eachMessage: async ({ partition, message }) => { const k = partition + ':' + message.offset; seen.set(k, (seen.get(k) ?? 0) + 1) } })
    return c
  }
  const c1 = await mk(0)
  const c2 = await mk(1)
  const a = kafka.admin()
  await a.connect()
  try {
    await until(() => asg[0].length === 2 && asg[1].length === 2, 30000, 'balanced 2/2')
    const p = kafka.producer()
    await p.connect()
    await p.send({ topic: t, messages: Array.from({ length: 200 }, (_, i) => ({ value: 'v' + i, partition: i % 4 })) })
    await until(() => seen.size === 200, 20000, 'all seen')
    const d = (await a.describeGroups([g])).groups[0]
    deq([d.state, d.members.length], ['Stable', 2])
    yes((await a.listGroups()).groups.some(x => x.groupId === g))
    await sleep(600)
    await c1.disconnect(); await c2.disconnect()
    await until(async () => (await a.describeGroups([g])).groups[0].state === 'Empty', 15000, 'empty')
    const off = await a.fetchOffsets({ groupId: g, topics: [t] })
    deq(off[0].partitions.map(x => x.offset), ['50', '50', '50', '50'])
    await p.send({ topic: t, messages: [{ value: 'new', partition: 3 }] })
    await p.disconnect()
    const c3 = await mk(0)
    await until(() => seen.has('3:50'), 20000, 'resumed')
    await c3.disconnect()
    deq([seen.size, Math.max(...seen.values())], [201, 1])
    await until(async () => (await a.describeGroups([g])).groups[0].state === 'Empty', 15000, 'empty again')
    await a.deleteGroups([g])
    yes(!(await a.listGroups()).groups.some(x => x.groupId === g))
  } finally { await a.disconnect(); await c1.disconnect().catch(() => {}); await c2.disconnect().catch(() => {}) }
}, 90000)
check('kafkajs', 'idempotent and transactional producer; read_committed and read_uncommitted; offsets in the transaction', async () => {
  const { kafka } = await kafkajs()
  const t = await kjTopic(1)
  const src = await kjTopic(1)
  const g = name('g')
  const p = kafka.producer({ transactionalId: name('x'), idempotent: true, maxInFlightRequests: 1, transactionTimeout: 30000 })
  await p.connect()
  for (const [tag, commit] of [['a', true], ['b', false], ['c', true]]) {
    const x = await p.transaction()
    await x.send({ topic: t, acks: -1, messages: Array.from({ length: 5 }, (_, i) => ({ value: tag + i, partition: 0 })) })
    await x.sendOffsets({ consumerGroupId: g, topics: [{ topic: src, partitions: [{ partition: 0, offset: tag === 'b' ? '99' : '7' }] }] })
    if (commit) await x.commit(); else await x.abort()
  }
  await p.disconnect()
  deq((await kjRead(t, 10)).map(m => m.value.toString()), ['a0', 'a1', 'a2', 'a3', 'a4', 'c0', 'c1', 'c2', 'c3', 'c4'])
  deq((await kjRead(t, 15, { readUncommitted: true })).length, 15)
  const a = kafka.admin()
  await a.connect()
  const off = await a.fetchOffsets({ groupId: g, topics: [src] })
  await a.disconnect()
  deq(off[0].partitions[0].offset, '7')
}, 90000)

// ------------------------------------------------------------------ @platformatic/kafka
let plt
async function platformatic () {
  if (!plt) {
    const pkg = JSON.parse(fs.readFileSync(path.join(dir, 'node_modules/@platformatic/kafka/package.json')))
    const e = typeof pkg.exports === 'string' ? pkg.exports : (pkg.exports?.['.'] ?? pkg.main)
    const file = typeof e === 'string' ? e : (e.import?.default ?? e.import ?? e.default)
    plt = await import(pathToFileURL(path.join(dir, 'node_modules/@platformatic/kafka', file)).href)
  }
  return plt
}
const base = () => ({ clientId: 'conf-plt', bootstrapBrokers: [broker], retries: 3, timeout: 15000 })
async function plTopic (parts = 1, configs) {
  const { Admin } = await platformatic()
  const a = new Admin(base())
  const t = name()
  try {
    await a.createTopics({ topics: [t], partitions: parts, replicas: rf, ...(configs ? { configs } : {}) })
    await until(async () => (await a.metadata({ topics: [t], forceUpdate: true })).topics.get(t)?.partitionsCount === parts, 10000, 'topic visible')
  } finally { await a.close() }
  return t
}
async function plRead (t, n, cfg = {}, group = name('g')) {
  const { Consumer } = await platformatic()
  const c = new Consumer({ ...base(), groupId: group, maxWaitTime: 200, ...cfg })
  const out = []
  try {
    const s = await c.consume({ topics: [t], mode: 'earliest', autocommit: false, sessionTimeout: 10000, heartbeatInterval: 500 })
    s.on('data', m => out.push(m))
    let err
    s.on('error', e => { err = e })
    await until(() => { if (err) throw err; return out.length >= n }, 20000, `${n} messages (have ${out.length})`)
    await sleep(300)
    await s.close()
  } finally { await c.close(true) }
  return out
}
for (const label of ['none', 'gzip', 'snappy', 'lz4', 'zstd']) {
  check('platformatic', `produce/consume ${label}: keys, nulls, headers, bytes equal`, async () => {
    const { Producer } = await platformatic()
    const t = await plTopic(1)
    const p = new Producer({ ...base(), acks: -1, ...(label === 'none' ? {} : { compression: label }) })
    const recs = records(120)
    try {
      for (let i = 0; i < recs.length; i += 40) {
        const r = await p.send({ messages: recs.slice(i, i + 40).map(x => ({ topic: t, partition: 0, key: x.key ?? undefined, value: x.value ?? undefined, headers: new Map(Object.entries(x.headers).map(([k, v]) => [Buffer.from(k), v])) })) })
        deq(Number(r.offsets[0].offset), i)
      }
    } finally { await p.close() }
    const got = await plRead(t, 120)
    deq(got.length, 120)
    const e = b => b == null || b.length === 0 ? '' : hex(b) // this client does not tell null from empty on every path
    got.forEach((m, i) => {
      deq(Number(m.offset), i)
      deq(e(m.key), e(recs[i].key)); deq(e(m.value), e(recs[i].value)); deq(norm(m.headers), norm(recs[i].headers))
    })
  })
}
check('platformatic', 'admin: topics, configs, offsets, delete records, partitions, groups', async () => {
  const { Admin, Producer, ListOffsetTimestamps } = await platformatic()
  const t = await plTopic(2, [{ name: 'retention.ms', value: '123456' }])
  const a = new Admin(base())
  try {
    yes((await a.listTopics()).includes(t))
    const p = new Producer({ ...base() })
    await p.send({ messages: Array.from({ length: 30 }, (_, i) => ({ topic: t, partition: 0, value: Buffer.from('v' + i) })) })
    await p.close()
    const at = async ts => Number((await a.listOffsets({ topics: [{ name: t, partitions: [{ partitionIndex: 0, timestamp: ts }] }] }))[0].partitions[0].offset)
    deq([await at(-2n), await at(-1n)], [0, 30])
    const cfg = await a.describeConfigs({ resources: [{ resourceType: 2, resourceName: t, configurationKeys: null }] })
    deq(cfg[0].configs.find(c => c.name === 'retention.ms').value, '123456')
    await a.deleteRecords({ topics: [{ name: t, partitions: [{ partition: 0, offset: 10n }] }] })
    deq(await at(-2n), 10)
    await a.createPartitions({ topics: [{ name: t, count: 4, assignments: null }] })
    await until(async () => (await a.metadata({ topics: [t], forceUpdate: true })).topics.get(t)?.partitionsCount === 4, 10000, '4 partitions')
    await a.listGroups()
    await a.deleteTopics({ topics: [t] })
    await until(async () => !(await a.listTopics()).includes(t), 10000, 'topic gone')
  } finally { await a.close() }
})
for (const proto of ['classic', 'consumer']) {
  check('platformatic', `group (${proto} protocol): two members, commit, resume`, async () => {
    const { Consumer, Producer, Admin } = await platformatic()
    const t = await plTopic(4)
    const g = name('g')
    const seen = new Map()
    const mk = async () => {
      const c = new Consumer({ ...base(), groupId: g, groupProtocol: proto, maxWaitTime: 200, ...(proto === 'classic' ? { sessionTimeout: 10000, heartbeatInterval: 500 } : {}) })
      const s = await c.consume({ topics: [t], mode: 'committed', fallbackMode: 'earliest', autocommit: true })
      s.on('data', m => { const k = m.partition + ':' + m.offset; seen.set(k, (seen.get(k) ?? 0) + 1) })
      s.on('error', () => {})
      return { c, s }
    }
    const m1 = await mk()
    const m2 = await mk()
    const own = x => x.c.assignments?.find(z => z.topic === t)?.partitions.length ?? 0
    try {
      await until(() => own(m1) === 2 && own(m2) === 2, 40000, 'balanced 2/2')
      const p = new Producer({ ...base() })
      await p.send({ messages: Array.from({ length: 200 }, (_, i) => ({ topic: t, partition: i % 4, value: Buffer.from('v' + i) })) })
      await until(() => seen.size === 200, 20000, 'all seen')
      await sleep(500)
      for (const m of [m1, m2]) { await m.s.close(); await m.c.close(true) }
      await p.send({ messages: [{ topic: t, partition: 3, value: Buffer.from('new') }] })
      await p.close()
      const m3 = await mk()
      await until(() => seen.has('3:50'), 30000, 'resumed')
      await m3.s.close(); await m3.c.close(true)
      deq(seen.size, 201)
    } finally { for (const m of [m1, m2]) await m.c.close(true).catch(() => {}) }
  }, 120000)
}
check('platformatic', 'transactions: commit, abort, read_committed', async () => {
  const { Producer } = await platformatic()
  const t = await plTopic(1)
  const p = new Producer({ ...base(), idempotent: true, transactionalId: name('x') })
  try {
    for (const [tag, commit] of [['a', true], ['b', false], ['c', true]]) {
      const x = await p.beginTransaction()
      await x.send({ messages: Array.from({ length: 5 }, (_, i) => ({ topic: t, partition: 0, value: Buffer.from(tag + i) })) })
      if (commit) await x.commit(); else await x.abort()
    }
  } finally { await p.close() }
  deq((await plRead(t, 10, { isolationLevel: 1 })).map(m => m.value.toString()), ['a0', 'a1', 'a2', 'a3', 'a4', 'c0', 'c1', 'c2', 'c3', 'c4'])
  deq((await plRead(t, 15, { isolationLevel: 0 })).length, 15)
}, 90000)

// ------------------------------------------------------------------ runner
process.on('unhandledRejection', () => {})
process.on('uncaughtException', e => { console.log('# uncaught ' + String(e.message).split('\n')[0]) })
const ver = p => { try { return JSON.parse(fs.readFileSync(path.join(dir, 'node_modules', p, 'package.json'))).version } catch { return 'absent' } }
console.log(`broker ${broker}; node ${process.version}, kafkajs ${ver('kafkajs')}, @platformatic/kafka ${ver('@platformatic/kafka')}`)
let pass = 0
let fail = 0
for (const c of checks) {
  if (!libs.includes(c.lib) || (only && !`${c.lib}: ${c.title}`.includes(only))) continue
  const called = `${c.lib}: ${c.title}`
  if (skips.has(called)) {
    console.log(`SKIP ${called} -- ${skips.get(called)}`)
    continue
  }
  const t0 = Date.now()
  let timer
  try {
    await Promise.race([c.f(), new Promise((resolve, reject) => { timer = setTimeout(() => reject(new Error(`no answer in ${c.ms} ms`)), c.ms) })])
    pass++
    console.log(`PASS ${c.lib}: ${c.title} (${((Date.now() - t0) / 1000).toFixed(1)}s)`)
  } catch (e) {
    fail++
    const walk = (x, d = 0) => !x || d > 4 ? [] : [String(x.message).replace(/\s+/g, ' ').slice(0, 160), ...(x.errors ?? []).flatMap(y => walk(y, d + 1)), ...walk(x.cause, d + 1)]
    const chain = [...new Set(walk(e))].join(' | ').slice(0, 500)
    console.log(`FAIL ${c.lib}: ${c.title} (${((Date.now() - t0) / 1000).toFixed(1)}s) -- ${chain}`)
  }
  clearTimeout(timer)
}
console.log(`${pass} passed, ${fail} failed`)
process.exit(fail ? 1 : 0)
