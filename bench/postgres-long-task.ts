import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readStream, sendBody, subscribeBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import { readEvents, textsOf } from './read-events.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withPostgres } from './with-postgres.ts'

const chunks = 1_000
/** The official SDK stores events in the background, so this agent does not wait either. */
const plan: Plan = { chunks, bytes: 100, window: 64 }
const awaited: Plan = { ...plan, window: 1 }

/** Tasks of many chunks in PostgreSQL, and a subscriber that joins in the middle, at another replica. */
export const postgresLongTask: Benchmark = {
  name: 'postgres-long-task',
  run: () => withPostgres(measure),
}

async function measure(url: string): Promise<BenchmarkResult> {
  await createTables(url)
  const parley = new URL('./servers/parley-postgres.ts', import.meta.url)
  const sdk = new URL('./servers/sdk-postgres.js', import.meta.url)
  const [a, b] = [await startServer(parley, url), await startServer(parley, url)]
  const [sdkA, sdkB] = [await startServer(sdk, url), await startServer(sdk, url)]
  try {
    for (const server of [a, sdkA]) await rateOf(server, { ...plan, chunks: 200 })
    const measured = await interleave(5, {
      parley: () => rateOf(a, plan),
      awaited: () => rateOf(a, awaited),
      sdk: () => rateOf(sdkA, plan),
    })
    const missed = await interleave(5, {
      parley: () => missedInTheMiddle(a, b),
      sdk: () => missedInTheMiddle(sdkA, sdkB),
    })
    const ratio = (name: 'parley' | 'awaited') => measured.map((round) => round[name] / round.sdk)
    const rate = (name: 'parley' | 'awaited' | 'sdk') => Math.round(median(measured.map((round) => round[name])))
    const subscriber = 'events missed by a subscriber that joins in the middle at another replica'
    return {
      title: `A task of ${chunks} chunks of ${plan.bytes} bytes in PostgreSQL, streamed to one reader`,
      comparisons: [
        { label: 'events/s, Parley : official SDK', values: ratio('parley'), unit: 'x', target: { atLeast: 10 } },
        { label: 'events/s, Parley, every chunk awaited : official SDK', values: ratio('awaited'), unit: 'x' },
        { label: `${subscriber}, Parley`, values: missed.map(({ parley }) => parley), unit: '', target: { atMost: 0 } },
        { label: `${subscriber}, official SDK`, values: missed.map(({ sdk }) => sdk), unit: '' },
      ],
      details: [
        { server: 'Parley, 64 writes in flight', 'events/s': rate('parley') },
        { server: 'Parley, one durable commit per chunk', 'events/s': rate('awaited') },
        { server: '@a2a-js/sdk 1.3.0 with its DatabaseTaskStore', 'events/s': rate('sdk') },
      ],
      notes: [
        'The SDK rewrites the whole task for every event, and a subscriber at another replica receives the current task but none of its changes.',
      ],
    }
  } finally {
    for (const server of [a, b, sdkA, sdkB]) await server.stop()
  }
}

/** Uses the SDK's own migration tool. */
async function createTables(url: string): Promise<void> {
  const sdk = fileURLToPath(import.meta.resolve('@a2a-js/sdk'))
  const tool = fileURLToPath(new URL('./cli/a2a_db.js', `file://${sdk}`))
  await promisify(execFile)(process.execPath, [tool, 'upgrade', '--url', url])
}

async function rateOf(server: ServerProcess, sent: Plan): Promise<number> {
  const stream = await readStream(server.port, sendBody(JSON.stringify(sent), 'SendStreamingMessage'))
  // The stream also contains the task and its final status.
  if (stream.events !== sent.chunks + 2) throw new Error(`expected ${sent.chunks + 2} events, got ${stream.events}`)
  return (sent.chunks / stream.milliseconds) * 1_000
}

async function missedInTheMiddle(a: ServerProcess, b: ServerProcess): Promise<number> {
  const body = sendBody(JSON.stringify(awaited), 'SendStreamingMessage')
  const timeout = new AbortController()
  let received: Promise<number> | undefined
  let taskId = ''
  let seen = 0
  for await (const event of readEvents(a.port, body)) {
    taskId ||= event.task?.id ?? ''
    seen += textsOf(event).length
    if (seen >= chunks / 2) received ??= countReceived(b.port, taskId, timeout.signal)
  }
  // A subscriber that has not received the end by then never will.
  setTimeout(() => timeout.abort(), 5_000).unref()
  return chunks - ((await received) ?? 0)
}

/** Counts the chunks that a subscriber receives, within the task or as events. */
async function countReceived(port: number, taskId: string, signal: AbortSignal): Promise<number> {
  const received = new Set<string>()
  try {
    for await (const event of readEvents(port, subscribeBody(taskId), { signal })) {
      for (const text of textsOf(event)) received.add(text)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  received.delete('')
  return received.size
}
