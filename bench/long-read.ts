import { request } from 'node:http'
import { sendForTask, subscribeBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import { readEvents } from './read-events.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withDirectory } from './work-directory.ts'

const short = 2_000
const long = 200_000
const rounds = 15
/** The last chunk of every task, which its readers wait for. */
const chunk = { chunks: 1, bytes: 100 }

/**
 * Reads of a task that is still open, of 200,000 and of 2,000 events. The events are status updates, so both tasks look the
 * same to their readers, and the comparison shows what the length of the log costs.
 */
export const longRead: Benchmark = {
  name: 'long-read',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  const server = await startServer(new URL('./servers/parley.ts', import.meta.url), directory)
  try {
    const tasks = { short: await open(server, short), long: await open(server, long) }
    const reads = {
      GetTask: (task: OpenTask) => call(server, 'GetTask', { id: task.id }),
      ListTasks: (task: OpenTask) => call(server, 'ListTasks', { contextId: task.contextId, includeArtifacts: true }),
      SubscribeToTask: (task: OpenTask) => subscribe(server, task),
      'resuming ten events before the end': (task: OpenTask) => subscribe(server, task, task.generation - 10),
    }
    const comparisons: BenchmarkResult['comparisons'][number][] = []
    const details: BenchmarkResult['details'][number][] = []
    for (const [label, read] of Object.entries(reads)) {
      await read(tasks.short)
      await read(tasks.long)
      const measured = await interleave(rounds, {
        short: () => time(() => read(tasks.short)),
        long: () => time(() => read(tasks.long)),
      })
      const values = measured.map((round) => round.long / round.short)
      comparisons.push({ label: `${label}, time`, values, unit: 'x', target: { atMost: 1.5 } })
      const milliseconds = (name: 'short' | 'long') =>
        Number(median(measured.map((round) => round[name])).toPrecision(3))
      details.push({
        read: label,
        [`ms, ${short} events`]: milliseconds('short'),
        [`ms, ${long}`]: milliseconds('long'),
      })
    }
    return {
      title: `Reading an open task of ${long} events, compared with one of ${short} (SQLite log)`,
      comparisons,
      details,
    }
  } finally {
    await server.stop()
  }
}

interface OpenTask {
  readonly id: string
  readonly contextId: string
  /** The number of its last event. */
  readonly generation: number
}

/** Starts a task that does not end, and waits until all of its events are stored. */
async function open(server: ServerProcess, updates: number): Promise<OpenTask> {
  const plan: Plan = { ...chunk, updates, open: true }
  const { id, contextId } = await sendForTask(server.port, JSON.stringify(plan), { returnImmediately: true })
  const leave = new AbortController()
  for await (const event of readEvents(server.port, subscribeBody(id), { signal: leave.signal })) {
    if (event.artifactUpdate || event.task?.artifacts?.length) break
  }
  leave.abort()
  // The message, the submitted and the first working status, the updates, and the chunk.
  return { id, contextId, generation: updates + 4 }
}

async function call({ port }: ServerProcess, method: string, params: object): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  })
  const text = await response.text()
  if (!text.includes('TASK_STATE_WORKING') || !text.includes('output')) throw new Error(`unexpected: ${text}`)
}

/** Reads a stream until the chunk, which a subscriber gets with the task and a resumed reader as an event. */
function subscribe({ port }: ServerProcess, { id }: OpenTask, after?: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'a2a-version': '1.0',
      ...(after !== undefined && { 'last-event-id': `${after}` }),
    }
    const stream = request({ host: '127.0.0.1', port, method: 'POST', headers, agent: false }, (response) => {
      let received = ''
      response.setEncoding('utf8').on('data', (text: string) => {
        received += text
        if (!received.includes('"output"')) return
        stream.destroy()
        resolve()
      })
      response.once('end', () => reject(new Error(`the stream ended: ${received}`)))
    })
    stream.once('error', reject)
    stream.end(subscribeBody(id))
  })
}

async function time(work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  await work()
  return performance.now() - start
}
