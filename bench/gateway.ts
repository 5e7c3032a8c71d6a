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
  const send = async (server: keyof typeof servers, version: '1.0' | '0.3' = '1.0', time = milliseconds) => {
    const body = version === '1.0' ? sendBody('Hello', 'SendMessage') : legacySendBody('0.3', 'Hello')
    const sent = await load({ port: servers[server].port, body, version, connections, milliseconds: time })
    return sent.requests / sent.seconds
  }
  const stream = async (server: keyof typeof servers) => {
    const text = JSON.stringify({ chunks, bytes: 64, window: 64 })
    const { events, milliseconds: taken } = await readStream(
      servers[server].port,
      sendBody(text, 'SendStreamingMessage'),
    )
    if (events < chunks) throw new Error(`expected ${chunks} events, got ${events}`)
    return chunks / (taken / 1_000)
  }
  try {
    for (const name of Object.keys(servers) as (keyof typeof servers)[]) {
      await checkResponse(servers[name])
      await send(name, '1.0', warmUp)
      await stream(name)
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
    const ratios = (name: Name, base: Name) => measured.map((round) => round[name] / round[base])
    const detail = (name: Name, unit: string) => ({
      measured: name,
      [unit]: Math.round(median(measured.map((round) => round[name]))),
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
        { label: 'durable send, in SQLite', values: ratios('durable', 'proxy'), unit: 'x', target: { atLeast: 0.3 } },
        {
          label: `pass-through stream of ${chunks} chunks`,
          values: ratios('passThroughStream', 'proxyStream'),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
        {
          label: '0.3 caller on a 1.0 agent : 1.0 caller',
          values: ratios('legacy', 'passThrough'),
          unit: 'x',
          target: { atLeast: 0.9 },
        },
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
