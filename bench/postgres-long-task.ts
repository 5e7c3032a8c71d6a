import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { readStream, sendBody, subscribeBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import { readEvents, textsOf } from './read-events.ts'
import type { Answer, Question } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withPostgres } from './with-postgres.ts'

const chunks = 1_000
/** The official SDK stores what its agent publishes behind its back; so here too the agent need not wait. */
const plan: Plan = { chunks, bytes: 100, window: 64 }
const awaited: Plan = { ...plan, window: 1 }

/** Tasks of many chunks in PostgreSQL, and a subscriber who comes in the middle, to another replica. */
export const postgresLongTask: Question = {
  name: 'postgres-long-task',
  ask: () => withPostgres(measure),
}

async function measure(url: string): Promise<Answer> {
  await makeTables(url)
  const ours = new URL('./servers/parley-postgres.ts', import.meta.url)
  const theirs = new URL('./servers/sdk-postgres.js', import.meta.url)
  const [a, b] = [await startServer(ours, url), await startServer(ours, url)]
  const [sdkA, sdkB] = [await startServer(theirs, url), await startServer(theirs, url)]
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
    const subscriber = 'events missed by who subscribes in the middle, at another replica'
    return {
      title: `A task of ${chunks} chunks of ${plan.bytes} bytes in PostgreSQL, streamed to one reader`,
      verdicts: [
        { what: 'events/s, Parley : official SDK', values: ratio('parley'), unit: 'x', target: { atLeast: 10 } },
        { what: 'events/s, Parley, every chunk awaited : official SDK', values: ratio('awaited'), unit: 'x' },
        { what: `${subscriber}, Parley`, values: missed.map(({ parley }) => parley), unit: '', target: { atMost: 0 } },
        { what: `${subscriber}, official SDK`, values: missed.map(({ sdk }) => sdk), unit: '' },
      ],
      details: [
        { server: 'Parley, 64 writes in flight', 'events/s': rate('parley') },
        { server: 'Parley, one durable commit per chunk', 'events/s': rate('awaited') },
        { server: '@a2a-js/sdk 1.3.0 with its DatabaseTaskStore', 'events/s': rate('sdk') },
      ],
      notes: [
        'The SDK writes the whole task anew for every event, and who subscribes at another replica gets the task as it is and none of its changes.',
      ],
    }
  } finally {
    for (const server of [a, b, sdkA, sdkB]) await server.stop()
  }
}

/** With the tool that comes with the SDK. */
async function makeTables(url: string): Promise<void> {
  const sdk = fileURLToPath(import.meta.resolve('@a2a-js/sdk'))
  const tool = fileURLToPath(new URL('./cli/a2a_db.js', `file://${sdk}`))
  await promisify(execFile)(process.execPath, [tool, 'upgrade', '--url', url])
}

async function rateOf(server: ServerProcess, sent: Plan): Promise<number> {
  const stream = await readStream(server.port, sendBody(JSON.stringify(sent), 'SendStreamingMessage'))
  // Beside the chunks there are the task itself and its end.
  if (stream.events !== sent.chunks + 2) throw new Error(`expected ${sent.chunks + 2} events, got ${stream.events}`)
  return (sent.chunks / stream.milliseconds) * 1_000
}

async function missedInTheMiddle(a: ServerProcess, b: ServerProcess): Promise<number> {
  const body = sendBody(JSON.stringify(awaited), 'SendStreamingMessage')
  const ended = new AbortController()
  let subscribed: Promise<number> | undefined
  let taskId = ''
  let seen = 0
  for await (const event of readEvents(a.port, body)) {
    taskId ||= event.task?.id ?? ''
    seen += textsOf(event).length
    if (seen >= chunks / 2) subscribed ??= countTold(b.port, taskId, ended.signal)
  }
  // Whoever has not heard of the end by then will not.
  setTimeout(() => ended.abort(), 5_000).unref()
  return chunks - ((await subscribed) ?? 0)
}

/** How many of the chunks a subscriber is told, be it in the task or as events. */
async function countTold(port: number, taskId: string, signal: AbortSignal): Promise<number> {
  const told = new Set<string>()
  try {
    for await (const event of readEvents(port, subscribeBody(taskId), { signal })) {
      for (const text of textsOf(event)) told.add(text)
    }
  } catch (error) {
    if (!signal.aborted) throw error
  }
  told.delete('')
  return told.size
}
