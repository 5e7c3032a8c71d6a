import { join } from 'node:path'
import { checkResponse } from './blocking-send.ts'
import { legacySendBody, readStream, sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const rounds = Number(process.env.BENCH_ROUNDS ?? 9)
const connections = 32
const milliseconds = 1_000
const warmUp = 4_000
const chunks = 4_000

/** Streams after which the engine has compiled what takes part: see decision 55. */
const warmUpStreams = 20

/** A gateway against a reverse proxy of bare node:http, in front of the same agent. */
export const gateway: Benchmark = {
  name: 'gateway',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  const gatewayScript = new URL('./servers/gateway.ts', import.meta.url)
  const upstream = await startServer(new URL('./servers/parley.ts', import.meta.url))
  const port = `${upstream.port}`
  const servers = {
    proxy: await startServer(new URL('./servers/proxy.ts', import.meta.url), port),
    passThrough: await startServer(gatewayScript, port, 'pass-through', join(directory, 'pass-through')),
    durable: await startServer(gatewayScript, port, 'durable', join(directory, 'durable')),
  }
  /** CPU microseconds of the agent and what is in front of it, for each unit of work. */
  const cpuOf = async (server: keyof typeof servers, work: () => Promise<number>) => {
    const read = async () => (await upstream.read('usage')).cpu + (await servers[server].read('usage')).cpu
    const before = await read()
    const units = await work()
    return ((await read()) - before) / units
  }
  const send = async (server: keyof typeof servers, version: '1.0' | '0.3' = '1.0', time = milliseconds) => {
    const body = version === '1.0' ? sendBody('Hello', 'SendMessage') : legacySendBody('0.3', 'Hello')
    let seconds = 1
    let requests = 1
    const cpu = await cpuOf(server, async () => {
      const sent = await load({ port: servers[server].port, body, version, connections, milliseconds: time })
      ;[seconds, requests] = [sent.seconds, sent.requests]
      return sent.requests
    })
    return { rate: requests / seconds, cpu }
  }
  const stream = async (server: keyof typeof servers) => {
    const text = JSON.stringify({ chunks, bytes: 64, window: 64 })
    let taken = 1
    const cpu = await cpuOf(server, async () => {
      const streamed = await readStream(servers[server].port, sendBody(text, 'SendStreamingMessage'))
      if (streamed.events < chunks) throw new Error(`expected ${chunks} events, got ${streamed.events}`)
      taken = streamed.milliseconds
      return chunks
    })
    return { rate: chunks / (taken / 1_000), cpu }
  }
  try {
    for (const name of Object.keys(servers) as (keyof typeof servers)[]) {
      await checkResponse(servers[name])
      await send(name, '1.0', warmUp)
      for (let count = 0; count < warmUpStreams; count++) await stream(name)
    }
    const measured = await interleave(rounds, {
      proxy: () => send('proxy'),
      passThrough: () => send('passThrough'),
      legacy: () => send('passThrough', '0.3'),
      durable: () => send('durable'),
      proxyStream: () => stream('proxy'),
      passThroughStream: () => stream('passThrough'),
    })
    type Name = keyof (typeof measured)[number]
    const ratios = (name: Name, base: Name) => measured.map((round) => round[name].rate / round[base].rate)
    const byCpu = (name: Name, base: Name) => ({
      label: 'the same, by CPU time of the gateway and the agent',
      values: measured.map((round) => round[base].cpu / round[name].cpu),
      unit: 'x' as const,
    })
    const detail = (name: Name, unit: string) => ({
      measured: name,
      [unit]: Math.round(median(measured.map((round) => round[name].rate))),
      'µs of CPU': median(measured.map((round) => round[name].cpu)).toFixed(1),
    })
    return {
      title: `A gateway : a reverse proxy of bare node:http in front of the same agent, ${connections} connections`,
      comparisons: [
        {
          label: 'pass-through send, records in SQLite',
          values: ratios('passThrough', 'proxy'),
          unit: 'x',
          target: { atLeast: 0.4 },
        },
        byCpu('passThrough', 'proxy'),
        { label: 'durable send, in SQLite', values: ratios('durable', 'proxy'), unit: 'x', target: { atLeast: 0.3 } },
        byCpu('durable', 'proxy'),
        {
          label: `pass-through stream of ${chunks} chunks`,
          values: ratios('passThroughStream', 'proxyStream'),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
        byCpu('passThroughStream', 'proxyStream'),
        {
          label: '0.3 caller on a 1.0 agent : 1.0 caller',
          values: ratios('legacy', 'passThrough'),
          unit: 'x',
          target: { atLeast: 0.9 },
        },
        byCpu('legacy', 'passThrough'),
      ],
      details: [
        ...(['proxy', 'passThrough', 'legacy', 'durable'] as const).map((name) => detail(name, 'requests/s')),
        ...(['proxyStream', 'passThroughStream'] as const).map((name) => detail(name, 'chunks/s')),
      ],
    }
  } finally {
    for (const server of [...Object.values(servers), upstream]) await server.stop()
  }
}
