import { sendBody, sendForTask } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer, unpin } from './server-process.ts'
import { type Sample, withUsage } from './with-usage.ts'
import { withDirectory } from './work-directory.ts'
import { hasWrk, loadWithWrk } from './wrk.ts'

const rounds = 9
const connections = 50
const milliseconds = 1_200
/** How the targets were set: wrk on the same two cores as the server. */
const withWrk = { connections: 32, seconds: 2 }
/** The JIT compiler shares the server's core and is slow: warm up with this many requests or for this long. */
const warmUp = { requests: 20_000, milliseconds: 8_000 }

/** A blocking send of a small task (working, one artifact, completed), as JSON-RPC over HTTP. */
export const blockingSend: Benchmark = {
  name: 'blocking-send',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  using _allCores = hasWrk ? unpin() : undefined
  const measureServer = (server: ServerProcess) =>
    hasWrk
      ? withUsage(server, () => loadWithWrk({ port: server.port, ...withWrk, directory }))
      : sample(server, milliseconds)
  const bare = new URL('./servers/bare.ts', import.meta.url)
  const parley = new URL('./servers/parley.ts', import.meta.url)
  const servers = {
    memory: await startServer(parley),
    sqlite: await startServer(parley, directory),
    sdk: await startServer(new URL('./servers/sdk.ts', import.meta.url)),
    bare: await startServer(bare),
    deferred: await startServer(bare, 'deferred'),
    stored: await startServer(new URL('./servers/bare-sqlite.ts', import.meta.url), directory),
  }
  try {
    for (const server of Object.values(servers)) {
      await checkResponse(server)
      await warm(server)
    }
    const measured = await interleave(rounds, {
      memory: () => measureServer(servers.memory),
      sqlite: () => measureServer(servers.sqlite),
      sdk: () => measureServer(servers.sdk),
      bare: () => measureServer(servers.bare),
      deferred: () => measureServer(servers.deferred),
      stored: () => measureServer(servers.stored),
    })
    const rates = (name: Name, base: Name) => measured.map((round) => round[name].rate / round[base].rate)
    const cpuRatios = (name: Name, base: Name) => measured.map((round) => round[base].cpu / round[name].cpu)
    const detail = (name: Name) => ({
      server: labels[name],
      'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
      'server CPU µs/request': Math.round(median(measured.map((round) => round[name].cpu))),
      'best round': Math.round(Math.min(...measured.map((round) => round[name].cpu))),
    })
    return {
      title: `Blocking send of a small task, ${hasWrk ? `wrk with ${withWrk.connections}` : connections} connections, requests/s`,
      comparisons: [
        { label: 'memory log : official SDK', values: rates('memory', 'sdk'), unit: 'x', target: { atLeast: 4 } },
        { label: 'the same, by server CPU time', values: cpuRatios('memory', 'sdk'), unit: 'x' },
        { label: 'SQLite log : official SDK', values: rates('sqlite', 'sdk'), unit: 'x', target: { atLeast: 4 } },
        { label: 'the same, by server CPU time', values: cpuRatios('sqlite', 'sdk'), unit: 'x' },
        { label: 'SQLite log : bare node:http', values: rates('sqlite', 'bare'), unit: 'x', target: { atLeast: 0.75 } },
        {
          label: 'bare node:http that stores the same rows in SQLite : bare node:http',
          values: rates('stored', 'bare'),
          unit: 'x',
        },
        {
          label: 'SQLite log : bare node:http that stores the same rows in SQLite',
          values: rates('sqlite', 'stored'),
          unit: 'x',
        },
        { label: 'memory log : bare node:http', values: rates('memory', 'bare'), unit: 'x', target: { atLeast: 1 } },
        { label: 'the same, by server CPU time', values: cpuRatios('memory', 'bare'), unit: 'x' },
        {
          label: 'memory log : bare node:http that defers its response as Parley does',
          values: rates('memory', 'deferred'),
          unit: 'x',
        },
      ],
      details: (Object.keys(labels) as Name[]).map(detail),
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}

const labels = {
  memory: 'Parley, memory log',
  sqlite: 'Parley, SQLite log (durable)',
  sdk: '@a2a-js/sdk 1.3.0 on Express, memory',
  bare: 'bare node:http',
  deferred: 'bare node:http, responding in the next event loop turn',
  stored: 'bare node:http, storing the same rows in SQLite',
}
type Name = keyof typeof labels

export async function checkResponse({ port }: ServerProcess): Promise<void> {
  const { status, artifacts = [] } = await sendForTask(port, 'Hello')
  const text = artifacts[0]?.parts[0]?.text
  if (status.state !== 'TASK_STATE_COMPLETED' || text !== 'Hello from the bench') {
    throw new Error(`unexpected response: ${status.state}, ${text}`)
  }
}

export async function warm(server: ServerProcess): Promise<void> {
  const end = performance.now() + warmUp.milliseconds
  for (let count = 0; count < warmUp.requests && performance.now() < end; )
    count += (await sample(server, 500)).requests
}

export function sample(server: ServerProcess, milliseconds: number): Promise<Sample> {
  const body = sendBody('Hello', 'SendMessage')
  return withUsage(server, () => load({ port: server.port, body, connections, milliseconds }))
}
