import { sendBody, sendForTask } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const rounds = 9
const connections = 50
const milliseconds = 1_200
/** A compiler that shares the server's core takes its time: so many requests, or for so many milliseconds at most. */
const warmUp = { requests: 20_000, milliseconds: 8_000 }

/** A blocking send of a small task (working, one artifact, completed), as JSON-RPC over HTTP. */
export const blockingSend: Question = {
  name: 'blocking-send',
  ask: () => withDirectory(measure),
}

async function measure(directory: string): Promise<Answer> {
  const bare = new URL('./servers/bare.ts', import.meta.url)
  const parley = new URL('./servers/parley.ts', import.meta.url)
  const servers = {
    memory: await startServer(parley),
    sqlite: await startServer(parley, directory),
    sdk: await startServer(new URL('./servers/sdk.ts', import.meta.url)),
    bare: await startServer(bare),
    deferred: await startServer(bare, 'deferred'),
  }
  try {
    for (const server of Object.values(servers)) {
      await checkAnswer(server)
      await warm(server)
    }
    const measured = await interleave(rounds, {
      memory: () => sample(servers.memory, milliseconds),
      sqlite: () => sample(servers.sqlite, milliseconds),
      sdk: () => sample(servers.sdk, milliseconds),
      bare: () => sample(servers.bare, milliseconds),
      deferred: () => sample(servers.deferred, milliseconds),
    })
    const rates = (name: Name, base: Name) => measured.map((round) => round[name].rate / round[base].rate)
    const detail = (name: Name) => ({
      server: labels[name],
      'requests/s': Math.round(median(measured.map((round) => round[name].rate))),
      'server CPU µs/request': Math.round(median(measured.map((round) => round[name].cpu))),
      'best round': Math.round(Math.min(...measured.map((round) => round[name].cpu))),
    })
    return {
      title: `Blocking send of a small task, ${connections} connections, requests/s`,
      verdicts: [
        { what: 'memory log : official SDK', values: rates('memory', 'sdk'), unit: 'x', target: { atLeast: 4 } },
        { what: 'SQLite log : official SDK', values: rates('sqlite', 'sdk'), unit: 'x', target: { atLeast: 2.5 } },
        { what: 'memory log : bare node:http', values: rates('memory', 'bare'), unit: 'x', target: { atLeast: 0.6 } },
        {
          what: 'memory log : bare node:http that defers its answer as we do',
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
  deferred: 'bare node:http, answering in the next turn',
}
type Name = keyof typeof labels

async function checkAnswer({ port }: ServerProcess): Promise<void> {
  const { status, artifacts = [] } = await sendForTask(port, 'Hello')
  const text = artifacts[0]?.parts[0]?.text
  if (status.state !== 'TASK_STATE_COMPLETED' || text !== 'Hello from the bench') {
    throw new Error(`unexpected answer: ${status.state}, ${text}`)
  }
}

async function warm(server: ServerProcess): Promise<void> {
  const end = performance.now() + warmUp.milliseconds
  for (let done = 0; done < warmUp.requests && performance.now() < end; ) done += (await sample(server, 500)).requests
}

interface Sample {
  readonly requests: number
  /** Requests per second. */
  readonly rate: number
  /** Microseconds of the server for one request. */
  readonly cpu: number
}

async function sample(server: ServerProcess, milliseconds: number): Promise<Sample> {
  const before = await server.ask('usage')
  const body = sendBody('Hello', 'SendMessage')
  const { requests, seconds } = await load({ port: server.port, body, connections, milliseconds })
  const after = await server.ask('usage')
  return { requests, rate: requests / seconds, cpu: (after.cpu - before.cpu) / requests }
}
