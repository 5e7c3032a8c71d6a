import { generateKeyPairSync, type KeyObject, sign as signBytes, verify } from 'node:crypto'
import { Agent, request } from 'node:http'
import { configuredKeys, createMeshPeer, importSigningKey, type MeshEnvelope, signEnvelope } from 'parley-a2a/mesh'
import { createEnvelopeCheck } from '../src/mesh/envelope-codec.ts'
import { interleave, median } from './measure.ts'
import { meshCard } from './mesh-card.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'

const rounds = 9
const milliseconds = 1_500
const parameters = { symbol: 'TEA', currency: 'EUR', quantities: [1, 10, 100] }

/** Cost of mesh envelopes: checking one, and exchanging signed ones over one connection. */
export const mesh: Benchmark = {
  name: 'mesh',
  async run(): Promise<BenchmarkResult> {
    const pairs = { shop: generateKeyPairSync('ed25519'), price: generateKeyPairSync('ed25519') }
    const checking = await measureChecking(jwkOf(pairs.shop.privateKey))
    const server = await startServer(
      new URL('./servers/mesh.ts', import.meta.url),
      JSON.stringify(jwkOf(pairs.price.privateKey)),
      JSON.stringify(jwkOf(pairs.shop.publicKey)),
    )
    const echo = await startServer(new URL('./servers/echo.ts', import.meta.url))
    const shop = createMeshPeer({
      card: meshCard('shop-agent'),
      key: await importSigningKey(jwkOf(pairs.shop.privateKey)),
      keys: await configuredKeys({ 'price-agent': jwkOf(pairs.price.publicKey) }),
    })
    const to = { agentId: 'price-agent', endpoint: `http://127.0.0.1:${server.port}/` }
    const link = shop.link(to)
    const socket = shop.connect({ agentId: 'price-agent', url: `ws://127.0.0.1:${server.port}/` })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const candidates = {
      http: { call: () => link.request('get_price', parameters), server },
      socket: { call: () => socket.request('get_price', parameters), server },
      socketMany: { call: () => socket.request('get_price', parameters), server, concurrency: 16 },
      bare: { call: () => signedEcho(agent, echo.port, pairs.shop), server: echo },
    }
    try {
      for (const candidate of Object.values(candidates)) await sample(candidate)
      const measured = await interleave(rounds, {
        http: () => sample(candidates.http),
        socket: () => sample(candidates.socket),
        socketMany: () => sample(candidates.socketMany),
        bare: () => sample(candidates.bare),
      })
      type Name = keyof typeof candidates
      const rates = (name: Name) => measured.map((round) => round[name].rate / round.bare.rate)
      const costs = (name: Name) => measured.map((round) => round.bare.cpu / round[name].cpu)
      const detail = (transport: string, name: Name) => ({
        transport,
        'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
        'CPU µs/request, both sides': Math.round(median(measured.map((round) => round[name].cpu))),
      })
      const target = { atLeast: 0.5 }
      const exchange = 'signed request and response'
      const baseline = 'sign + verify + HTTP echo'
      return {
        title: 'Mesh envelopes',
        comparisons: [
          { label: 'checking a signed request : parsing its JSON', values: checking, unit: 'x', target: { below: 1 } },
          { label: `${exchange}, one WebSocket : ${baseline}, requests/s`, values: rates('socket'), unit: 'x', target },
          {
            label: `${exchange}, one HTTP connection : ${baseline}, requests/s`,
            values: rates('http'),
            unit: 'x',
            target,
          },
          {
            label: `16 concurrent over one WebSocket : ${baseline}, requests/s`,
            values: rates('socketMany'),
            unit: 'x',
          },
          {
            label: `${exchange}, one WebSocket : ${baseline}, requests per CPU second`,
            values: costs('socket'),
            unit: 'x',
            target,
          },
          {
            label: `${exchange}, one HTTP connection : ${baseline}, requests per CPU second`,
            values: costs('http'),
            unit: 'x',
            target,
          },
          {
            label: `16 concurrent over one WebSocket : ${baseline}, requests per CPU second`,
            values: costs('socketMany'),
            unit: 'x',
          },
        ],
        details: [
          detail('WebSocket, one at a time', 'socket'),
          detail('WebSocket, 16 concurrent', 'socketMany'),
          detail('HTTP, one at a time', 'http'),
          detail(`bare Ed25519 ${baseline}`, 'bare'),
        ],
        notes: [
          'A request and its response need two signatures and two verifications; the baseline makes one of each. A process that is pinned to one core signs in its own thread. Other load on the machine affects requests/s more than CPU seconds.',
        ],
      }
    } finally {
      socket.close()
      agent.destroy()
      await Promise.all([server.stop(), echo.stop()])
    }
  },
}

function jwkOf(key: KeyObject): JsonWebKey {
  return key.export({ format: 'jwk' }) as JsonWebKey
}

async function measureChecking(secret: JsonWebKey): Promise<readonly number[]> {
  const envelope: MeshEnvelope = {
    message_id: crypto.randomUUID(),
    message_type: 'request',
    sender_id: 'shop-agent',
    recipient_id: 'price-agent',
    timestamp: new Date().toISOString(),
    payload: { method: 'get_price', parameters },
    correlation_id: null,
  }
  const text = JSON.stringify(await signEnvelope(envelope, await importSigningKey(secret)))
  const message = JSON.parse(text)
  const check = createEnvelopeCheck()
  if (check(message)) throw new Error('the benchmark envelope is not valid')
  const candidates = {
    check: async () => nanoseconds(() => check(message)),
    parse: async () => nanoseconds(() => JSON.parse(text)),
  }
  await interleave(3, candidates)
  return (await interleave(rounds * 3, candidates)).map((round) => round.check / round.parse)
}

function nanoseconds(work: () => unknown): number {
  const count = 20_000
  const start = performance.now()
  for (let left = count; left > 0; left--) work()
  return ((performance.now() - start) * 1e6) / count
}

interface Candidate {
  readonly call: () => Promise<unknown>
  readonly server: ServerProcess
  readonly concurrency?: number
}

/** Calls per second, and CPU microseconds per call of client and server. */
async function sample({
  call,
  server,
  concurrency = 1,
}: Candidate): Promise<{ readonly rate: number; readonly cpu: number }> {
  const before = await server.read('usage')
  const clientUsage = process.cpuUsage()
  const start = performance.now()
  let calls = 0
  const work = async () => {
    while (performance.now() - start < milliseconds) {
      await call()
      calls++
    }
  }
  await Promise.all(Array.from({ length: concurrency }, work))
  const duration = performance.now() - start
  const { user, system } = process.cpuUsage(clientUsage)
  const after = await server.read('usage')
  return { rate: (calls * 1000) / duration, cpu: (user + system + after.cpu - before.cpu) / calls }
}

interface KeyPair {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** The minimum: sign, send, verify. */
async function signedEcho(agent: Agent, port: number, { publicKey, privateKey }: KeyPair): Promise<void> {
  const text = Buffer.from(JSON.stringify({ id: crypto.randomUUID(), method: 'get_price', parameters }))
  const signature = signBytes(null, text, privateKey)
  const echo = await post(agent, port, text)
  if (!verify(null, echo, publicKey, signature)) throw new Error('the echo differs from the request')
}

function post(agent: Agent, port: number, body: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json', 'content-length': body.length }
    const outgoing = request({ agent, port, host: '127.0.0.1', method: 'POST', headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.once('end', () => resolve(Buffer.concat(chunks)))
    })
    outgoing.once('error', reject)
    outgoing.end(body)
  })
}
