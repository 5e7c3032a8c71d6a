import { existsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { flushCompileCache } from 'node:module'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { agent } from '../../../src/core/agent/agent.ts'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { PushOptions } from '../../../src/core/push/options.ts'
import type { TaskLog } from '../../../src/core/tasks/log.ts'
import { createPostgresLog } from '../../../src/entries/postgres.ts'
import { createSqliteLog } from '../../../src/entries/sqlite.ts'
import { serve } from '../../../src/serve/serve.ts'
import { crashingPush } from '../push/crashing-push.ts'
import type { ProcessOptions } from './server-process.ts'

/** A server process for tests, started by `startServerProcess` with its options as one JSON argument. */
const options: ScriptOptions = JSON.parse(process.argv[2] ?? '')
const { directory } = options

interface ScriptOptions extends ProcessOptions {
  readonly directory: string
}

/** Executes the command in the message, and appends every turn to the file `turns`. */
async function run(turn: Turn): Promise<string | undefined> {
  await appendFile(join(directory, 'turns'), `${process.pid} ${turn.text}\n`)
  const [command, name = ''] = turn.text.split(' ')
  switch (command) {
    case 'count': {
      const numbers = turn.artifact('numbers')
      const last = name ? Number(name) : Number.POSITIVE_INFINITY
      for (let n = 1; n <= last && !turn.signal.aborted; n++) {
        await numbers.write(`${n}`)
        await pause(1)
      }
      return undefined
    }
    case 'order': {
      const record = (text: string) => appendFile(join(directory, 'turns'), `${process.pid} ${text}\n`)
      await turn.step('reserve', () => record('reserve'))
      await turn.status('working', 'Reserved')
      const list = turn.artifact('list')
      await list.write('one ')
      await turn.step('confirm', async () => {
        await record('confirm begins')
        while (!existsSync(join(directory, name)) && !turn.signal.aborted) await pause(5)
        turn.signal.throwIfAborted()
        await record('confirm')
      })
      await list.close('two')
      const { text } = await turn.ask('Pay how?')
      await turn.step('pay', () => record(`pay by ${text}`))
      return `Paid by ${text}`
    }
    case 'ask-until':
      await turn.ask('Which one?', { expiresAt: Number(name) })
      return 'answered'
    case 'tick': {
      const ticks = turn.artifact('ticks')
      // Only a second attempt ends on its own.
      for (let n = 1; !turn.signal.aborted && (turn.attempt === 1 || n <= 20); n++) {
        await ticks.write(`${process.pid} `)
        await pause(2)
      }
      return turn.signal.aborted ? undefined : `attempt ${turn.attempt}`
    }
    case 'hold':
      await turn.status('working', 'Holding')
      while (!existsSync(join(directory, name)) && !turn.signal.aborted) await pause(5)
      return turn.signal.aborted ? undefined : 'Released'
    case 'hoard': {
      const [, megabytes = '', until = ''] = turn.text.split(' ')
      const hoard = Array.from({ length: (Number(megabytes) * 2 ** 20) / 8 }, (_, n) => n + 0.5)
      while (!existsSync(join(directory, until)) && !turn.signal.aborted) await pause(5)
      return `Let go of ${hoard.length} numbers`
    }
    case 'fill': {
      const filling = turn.artifact('filling')
      const chunk = 'x'.repeat(2 ** 18)
      for (let n = 0; n < 4 * Number(name); n++) await filling.write(chunk)
      await filling.close()
      return undefined
    }
    case 'ignore':
      await turn.status('working', 'Ignoring')
      return await new Promise(() => {})
    case 'linger':
      setInterval(() => {}, 1_000) // keeps the process alive
      await turn.status('working', 'Lingering')
      return await new Promise(() => {})
    case 'mute':
      return await new Promise(() => {})
    case 'ask':
      await turn.requireInput('Which one?')
      return undefined
    case 'say':
      return name
    case 'erase': {
      const { tasks } = await server.erase({ contextId: name })
      return `Erased ${tasks.length}`
    }
  }
  await turn.status('working')
  return `Did ${turn.text}`
}

/** The caller of `serve` closes the log that it passes, and the pool of that log. */
async function openLog({ postgres, crashPoint }: ScriptOptions): Promise<OpenedLog | undefined> {
  if (crashPoint) {
    const log = createSqliteLog({ file: join(directory, 'scripted.db') })
    return { log, push: crashingPush(log.webhooks, crashPoint), close: () => log.close() }
  }
  if (!postgres) return undefined
  const { url, standbyUrl, ...settings } = postgres
  const pools = [url, standbyUrl].flatMap((each) => (each ? new pg.Pool({ connectionString: each }) : []))
  const log = await createPostgresLog({ pools, ...settings })
  return {
    log,
    async close() {
      await log.close()
      for (const pool of pools) await pool.end()
    },
  }
}

interface OpenedLog {
  readonly log: TaskLog
  readonly push?: Pick<PushOptions, 'store' | 'fetch'>
  close(): Promise<void>
}

const { postgres: _, crashPoint: __, ...serveOptions } = options
const opened = await openLog(options)
const server = await serve(agent({ name: 'Scripted' }, run), {
  port: 0,
  ...serveOptions,
  ...(opened && { log: opened.log }),
  ...(opened?.push && { push: { ...options.push, ...opened.push } }),
})
if (opened) process.once('SIGTERM', () => void server.close().then(opened.close))
console.log(server.url)
// Node writes the cache at exit, and many of these processes are killed.
flushCompileCache()
