import { readdir, stat } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { postBytes, sendForTask, subscribeBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withDirectory } from './work-directory.ts'

const megabyte = 1e6
const readers = 20
const published = 75 * megabyte
const plan: Plan = { chunks: Math.ceil(published / 16_384), bytes: 16_384, gated: true }
const leavers = 1_000

/** Subscribers that never read, and leftovers of subscribers that have disconnected. */
export const slowReaders: Benchmark = {
  name: 'slow-readers',
  async run() {
    const publishing = await interleave(5, { alone: () => publish(0), watched: () => publish(readers) })
    const leftovers = await withDirectory(measureLeftovers)
    const detail = (name: 'alone' | 'watched', subscribers: string) => ({
      subscribers,
      seconds: Number(median(publishing.map((round) => round[name].seconds)).toPrecision(3)),
      'peak growth, MB': Math.round(median(publishing.map((round) => round[name].peak))),
      'growth at the end, MB': Math.round(median(publishing.map((round) => round[name].end))),
    })
    return {
      title: `${readers} subscribers that never read while ${published / megabyte} MB are published (SQLite log)`,
      comparisons: [
        {
          label: 'memory (RSS) grows at its peak by',
          values: publishing.map(({ watched }) => watched.peak),
          unit: 'MB',
          target: { below: 60 },
        },
        {
          label: 'duration of the task, with subscribers : without',
          values: publishing.map(({ alone, watched }) => watched.seconds / alone.seconds),
          unit: 'x',
          target: { atMost: 1.1 },
        },
        {
          label: 'duration of its second half, when the system buffers are full',
          values: publishing.map(({ alone, watched }) => watched.secondHalf / alone.secondHalf),
          unit: 'x',
        },
        {
          label: 'heap that each of 1,000 subscribers leaves behind',
          values: leftovers.map(({ heap }) => heap / leavers / 1_000),
          unit: 'KB',
          target: { below: 0.5 },
        },
        {
          label: 'waiters and handles that 1,000 subscribers leave behind',
          values: leftovers.map(({ waiting, handles }) => Math.max(waiting, handles)),
          unit: '',
          target: { atMost: 0 },
        },
      ],
      details: [detail('alone', 'no subscribers'), detail('watched', `${readers} subscribers that never read`)],
      notes: [
        'The first events go into the system buffers, which took 4 MB per reader here, 80 MB in total; the duration of the whole task includes that work.',
      ],
    } satisfies BenchmarkResult
  },
}

interface PublishSample {
  readonly seconds: number
  readonly secondHalf: number
  /** Highest growth of the server's memory, in megabytes. */
  readonly peak: number
  /** Growth at the end, in megabytes. */
  readonly end: number
}

const observedServer = new URL('./servers/parley-observed.ts', import.meta.url)

/** Starts a new server each time, because a process rarely returns memory to the system. */
function publish(subscribers: number): Promise<PublishSample> {
  return withDirectory(async (directory) => {
    const server = await startServer(observedServer, directory)
    const sockets: Socket[] = []
    try {
      await sendForTask(server.port, JSON.stringify({ chunks: 200, bytes: plan.bytes } satisfies Plan))
      const task = await startGatedTask(server, plan)
      for (let count = 0; count < subscribers; count++) sockets.push(subscribeWithoutReading(server.port, task))
      // The run of the task waits as well.
      await until(async () => (await server.read('waiting')) >= subscribers)
      const before = await server.read('usageCollected')
      await server.read('peak')
      const { milliseconds, secondHalf } = await server.read('openGate')
      await checkStored(directory)
      const peak = await server.read('peak')
      const after = await server.read('usageCollected')
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

interface Leftovers {
  readonly heap: number
  readonly waiting: number
  readonly handles: number
}

/** Measures what remains of subscribers that read one event of an idle task and disconnect. The first ones warm up. */
async function measureLeftovers(directory: string): Promise<readonly Leftovers[]> {
  const server = await startServer(observedServer, directory)
  try {
    const task = await startGatedTask(server, { chunks: 1, bytes: 100, gated: true })
    await subscribeAndLeave(server.port, task)
    const samples: Leftovers[] = []
    for (let round = 0; round < 3; round++) {
      const before = await readLeftovers(server)
      await subscribeAndLeave(server.port, task)
      const after = await readLeftovers(server)
      samples.push({
        heap: after.heap - before.heap,
        waiting: after.waiting - before.waiting,
        handles: after.handles - before.handles,
      })
    }
    await server.read('openGate')
    return samples
  } finally {
    await server.stop()
  }
}

async function readLeftovers(server: ServerProcess): Promise<Leftovers> {
  await sleep(200)
  const { heap } = await server.read('usageCollected')
  return { heap, waiting: await server.read('waiting'), handles: await server.read('handles') }
}

async function subscribeAndLeave(port: number, taskId: string): Promise<void> {
  for (let count = 0; count < leavers; count += 100) {
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
      else reject(new Error(`expected a working task, got ${text}`))
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

/** Starts a task whose agent waits until the gate is opened, and returns its id. */
async function startGatedTask(server: ServerProcess, plan: Plan): Promise<string> {
  const { id } = await sendForTask(server.port, JSON.stringify(plan), { returnImmediately: true })
  return id
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + 10_000
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('the condition was not met in time')
    await sleep(10)
  }
}
