import { spawn } from 'node:child_process'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { postBytes, sendBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Question } from './report.ts'
import { onServerCore } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const rounds = 21

/** From the start of `node` to its first answer. The scripts are plain JavaScript: nothing is to be stripped. */
export const startUp: Question = {
  name: 'start-up',
  async ask() {
    const parley = new URL('./servers/start-parley.js', import.meta.url)
    const bare = new URL('./servers/start-bare.js', import.meta.url)
    const measured = await interleave(rounds, {
      parley: () => withDirectory((directory) => timeToAnswer(parley, 'TASK_STATE_COMPLETED', directory)),
      bare: () => withDirectory((directory) => timeToAnswer(bare, 'Hello', directory)),
    })
    const detail = (name: 'parley' | 'bare') => ({
      server: name === 'parley' ? 'Parley, SQLite log in an empty directory' : 'bare node:http',
      milliseconds: Math.round(median(measured.map((round) => round[name]))),
    })
    return {
      title: 'From `node` to the first answer to a blocking send (SQLite log, empty directory)',
      verdicts: [
        {
          what: 'time, Parley : bare node:http',
          values: measured.map((round) => round.parley / round.bare),
          unit: 'x',
          target: { atMost: 2.5 },
        },
      ],
      details: [detail('parley'), detail('bare')],
    }
  },
}

async function timeToAnswer(script: URL, expected: string, directory: string): Promise<number> {
  const port = await freePort()
  const begin = performance.now()
  const child = spawn(...onServerCore([fileURLToPath(script), String(port), directory]), { stdio: 'inherit' })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  try {
    for (;;) {
      const answer = await ask(port).catch(() => undefined)
      const took = performance.now() - begin
      if (answer?.includes(expected)) return took
      if (answer !== undefined) throw new Error(`expected ${expected}, got ${answer}`)
      if (child.exitCode !== null || took > 10_000) throw new Error(`${script.pathname} does not answer`)
      await sleep(1)
    }
  } finally {
    child.kill('SIGKILL')
    await exited
  }
}

/** Everything up to the end of the answer; fails while nobody listens. */
function ask(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    let answer = ''
    socket.setEncoding('utf8')
    socket.on('data', (text: string) => {
      answer += text
    })
    socket.once('end', () => resolve(answer))
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
