import { readdir, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postBytes, sendForTask, subscribeBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withDirectory } from './work-directory.ts'

const megabyte = 1e6
const readers = 20
const published = 75 * megabyte
const plan: Plan = { chunks: Math.ceil(published / 16_384), bytes: 16_384, gated: true }
const leavers = 1_000

/** Subscribers that never read, and subscribers that have left. */
export const slowReaders: Question = {
  name: 'slow-readers',
  async ask() {
    const publishing = await interleave(5, { alone: () => publish(0), watched: () => publish(readers) })
    const left = await withDirectory(leave)
    const detail = (name: 'alone' | 'watched', what: string) => ({
      what,
      seconds: Number(median(publishing.map((round) => round[name].seconds)).toPrecision(3)),
      'peak growth, MB': Math.round(median(publishing.map((round) => round[name].peak))),
      'growth at the end, MB': Math.round(median(publishing.map((round) => round[name].end))),
    })
    return {
      title: `${readers} subscribers that never read while ${published / megabyte} MB are published (SQLite log)`,
      verdicts: [
        {
          what: 'memory (RSS) grows at its peak by',
          values: publishing.map(({ watched }) => watched.peak),
          unit: 'MB',
          target: { below: 60 },
        },
        {
          what: 'duration of the task, with them : without',
          values: publishing.map(({ alone, watched }) => watched.seconds / alone.seconds),
          unit: 'x',
          target: { atMost: 1.1 },
        },
        {
          what: 'of its second half, when the buffers of the system are full',
          values: publishing.map(({ alone, watched }) => watched.secondHalf / alone.secondHalf),
          unit: 'x',
        },
        {
          what: 'heap that each of 1,000 subscribers leaves behind',
          values: left.map(({ heap }) => heap / leavers / 1_000),
          unit: 'KB',
          target: { below: 0.5 },
        },
        {
          what: 'waiters and handles that 1,000 subscribers leave behind',
          values: left.map(({ waiting, handles }) => Math.max(waiting, handles)),
          unit: '',
          target: { atMost: 0 },
        },
      ],
      details: [detail('alone', 'nobody reads along'), detail('watched', `${readers} subscribers that never read`)],
      notes: [
        'The first events still go into the buffers of the system, which took 4 MB for each reader here, so 80 MB in all; that work is in the duration of the whole task.',
      ],
    } satisfies Answer
  },
}

interface Published {
  readonly seconds: number
  readonly secondHalf: number
  /** Growth of the server's memory in megabytes: the highest, and what is left of it. */
  readonly peak: number
  readonly end: number
}

const watchedServer = new URL('./servers/parley-watched.ts', import.meta.url)

/** Each time a fresh server: memory that a process once had it seldom gives back. */
function publish(subscribers: number): Promise<Published> {
  return withDirectory(async (directory) => {
    const server = await startServer(watchedServer, directory)
    const sockets: Socket[] = []
    try {
      await sendForTask(server.port, JSON.stringify({ chunks: 200, bytes: plan.bytes } satisfies Plan))
      const task = await beginGated(server, plan)
      for (let count = 0; count < subscribers; count++) sockets.push(subscribeWithoutReading(server.port, task))
      // One more waits: whoever runs the task.
      await until(async () => (await server.ask('waiting')) >= subscribers)
      const before = await server.ask('usageCollected')
      await server.ask('peak')
      const { milliseconds, secondHalf } = await server.ask('openGate')
      await checkStored(directory)
      const peak = await server.ask('peak')
      const after = await server.ask('usageCollected')
      const growth = (rss: number) => (rss - before.rss) / megabyte
      return {
        seconds: milliseconds / 1_000,
        secondHalf: secondHalf / 1_000,
        peak: growth(peak),
        end: growth(after.rss),
      }
    } finally {
      for (const socket of sockets) socket.destroy()
      await server.stop()
    }
  })
}

async function checkStored(directory: string): Promise<void> {
  const files = await readdir(directory)
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(directory, file))).size))
  const stored = sizes.reduce((sum, size) => sum + size, 0)
  if (stored < published) throw new Error(`expected ${published} bytes to be stored, found ${stored}`)
}

interface Left {
  readonly heap: number
  readonly waiting: number
  readonly handles: number
}

/** What stays behind of subscribers that read one event of a quiet task and go. The first ones only warm up. */
async function leave(directory: string): Promise<readonly Left[]> {
  const server = await startServer(watchedServer, directory)
  try {
    const task = await beginGated(server, { chunks: 1, bytes: 100, gated: true })
    await comeAndGo(server.port, task)
    const left: Left[] = []
    for (let round = 0; round < 3; round++) {
      const before = await traces(server)
      await comeAndGo(server.port, task)
      const after = await traces(server)
      left.push({
        heap: after.heap - before.heap,
        waiting: after.waiting - before.waiting,
        handles: after.handles - before.handles,
      })
    }
    await server.ask('openGate')
    return left
  } finally {
    await server.stop()
  }
}

async function traces(server: ServerProcess): Promise<Left> {
  await sleep(200)
  const { heap } = await server.ask('usageCollected')
  return { heap, waiting: await server.ask('waiting'), handles: await server.ask('handles') }
}

async function comeAndGo(port: number, taskId: string): Promise<void> {
  for (let gone = 0; gone < leavers; gone += 100) {
    await Promise.all(Array.from({ length: 100 }, () => readOneEvent(port, taskId)))
  }
}

function readOneEvent(port: number, taskId: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = subscribe(port, taskId)
    let text = ''
    socket.on('data', (chunk) => {
      text += chunk.toString()
      if (!text.includes('\n\n')) return
      socket.destroy()
      if (text.includes('"TASK_STATE_WORKING"')) resolve()
      else reject(new Error(`expected a task at work, got ${text}`))
    })
    socket.once('error', reject)
  })
}

function subscribeWithoutReading(port: number, taskId: string): Socket {
  return subscribe(port, taskId).pause()
}

function subscribe(port: number, taskId: string): Socket {
  const socket = connect(port, '127.0.0.1')
  socket.write(postBytes(subscribeBody(taskId)))
  return socket
}

/** Starts a task whose agent waits at the gate, and gives its id. */
async function beginGated(server: ServerProcess, plan: Plan): Promise<string> {
  const { id } = await sendForTask(server.port, JSON.stringify(plan), { returnImmediately: true })
  return id
}

async function until(isTrue: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await isTrue())) {
    if (performance.now() > end) throw new Error('waited in vain')
    await sleep(10)
  }
}
