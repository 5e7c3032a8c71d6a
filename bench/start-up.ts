import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postBytes, sendBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark } from './report.ts'
import { onServerCore, quietEnvironment } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const rounds = 21

/** Time from the start of `node` to its first response. The scripts are JavaScript, so that Node strips no types. */
export const startUp: Benchmark = {
  name: 'start-up',
  async run() {
    const parley = new URL('./servers/start-parley.js', import.meta.url)
    const bare = new URL('./servers/start-bare.js', import.meta.url)
    const measured = await interleave(rounds, {
      parley: () => withDirectory((directory) => timeToResponse(parley, 'TASK_STATE_COMPLETED', directory)),
      bare: () => withDirectory((directory) => timeToResponse(bare, 'Hello', directory)),
    })
    const detail = (name: 'parley' | 'bare') => ({
      server: name === 'parley' ? 'Parley, SQLite log in an empty directory' : 'bare node:http',
      milliseconds: Math.round(median(measured.map((round) => round[name]))),
    })
    return {
      title: 'From `node` to the first response to a blocking send (SQLite log, empty directory)',
      comparisons: [
        {
          label: 'time, Parley : bare node:http',
          values: measured.map((round) => round.parley / round.bare),
          unit: 'x',
          target: { atMost: 2.5 },
        },
      ],
      details: [detail('parley'), detail('bare')],
    }
  },
}

export async function timeToResponse(
  script: URL,
  expected: string,
  directory: string,
  ...args: readonly string[]
): Promise<number> {
  const port = await freePort()
  const start = performance.now()
  const child = spawn(...onServerCore([fileURLToPath(script), String(port), directory, ...args]), {
    stdio: 'inherit',
    env: quietEnvironment,
  })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    for (;;) {
      const response = await request(port).catch(() => undefined)
      const elapsed = performance.now() - start
      if (response?.includes(expected)) return elapsed
      if (response !== undefined) throw new Error(`expected ${expected}, got ${response}`)
      if (child.exitCode !== null || elapsed > 10_000) throw new Error(`${script.pathname} does not respond`)
      await sleep(1)
    }
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

/** Returns the complete response. Rejects while the server is not listening. */
function request(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let response = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      response += text
    })
    socket.once('end', () => resolve(response))
    socket.once('error', reject)
    socket.write(postBytes(sendBody('Hello', 'SendMessage'), 'connection: close'))
  })
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
