import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sendForTask } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const tasks = 1_000
/** The chunks and three status updates: submitted, working, completed. */
const events = 20
const plan = JSON.stringify({ chunks: events - 3, bytes: 100, window: events })
const callers = 32
const hangingShare = 0.05

/** Tasks that send every event to a webhook, some of which never respond. */
export const push: Benchmark = {
  name: 'push',
  async run(): Promise<BenchmarkResult> {
    const rounds = await interleave(5, {
      none: () => sample('none'),
      healthy: () => sample('healthy'),
      hanging: () => sample('hanging'),
    })
    const delivery = rounds.map(({ healthy, hanging }) => hanging.delivered / healthy.delivered)
    const throughput = rounds.map(({ none, healthy }) => none.answered / healthy.answered)
    const detail = (name: Name) => ({
      webhooks: labels[name],
      'tasks/s': Math.round(tasks / (median(rounds.map((round) => round[name].answered)) / 1_000)),
      'all delivered after s': Number((median(rounds.map((round) => round[name].delivered)) / 1_000).toPrecision(3)),
    })
    return {
      title: `${tasks} tasks with a webhook each and ${events} events each, SQLite log`,
      comparisons: [
        {
          label: 'time until all healthy receivers have all events, 5 % hanging : none hanging',
          values: delivery,
          unit: 'x',
          target: { atMost: 1.3 },
        },
        { label: 'tasks/s, webhooks : no webhooks', values: throughput, unit: 'x', target: { atLeast: 0.9 } },
      ],
      details: (Object.keys(labels) as Name[]).map(detail),
      notes: [
        `${callers} callers wait for their tasks; every receiver is a separate host. A hanging receiver hangs for longer than the run.`,
      ],
    }
  },
}

const labels = { none: 'none', healthy: 'one each', hanging: 'one each, 5 % hang' }
type Name = keyof typeof labels

interface Sample {
  /** Milliseconds until all tasks had ended for their callers. */
  readonly answered: number
  /** Milliseconds until every responding receiver had every event. */
  readonly delivered: number
}

/** Uses a new server for each sample, so that hanging deliveries do not affect the next one. */
function sample(kind: Name): Promise<Sample> {
  return withDirectory(async (directory) => {
    const server = await startServer(new URL('./servers/parley-push.ts', import.meta.url), directory)
    const receivers = await startReceivers(tasks, kind === 'hanging' ? Math.round(1 / hangingShare) : undefined)
    try {
      await warmUp(server.port, kind)
      const start = performance.now()
      await run(server.port, tasks, (index) => (kind === 'none' ? undefined : receivers.urlOf(index)))
      const answered = performance.now() - start
      if (kind !== 'none') await receivers.complete
      return { answered, delivered: performance.now() - start }
    } finally {
      await server.stop()
      receivers.stop()
    }
  })
}

/** Excludes the modules that load with the first webhook, and most of the compiling, from the measurement. */
async function warmUp(port: number, kind: Name): Promise<void> {
  const count = 500
  const receivers = await startReceivers(count)
  await run(port, count, (index) => (kind === 'none' ? undefined : receivers.urlOf(index)))
  if (kind !== 'none') await receivers.complete
  receivers.stop()
}

async function run(port: number, count: number, urlOf: (index: number) => string | undefined): Promise<void> {
  let next = 0
  const call = async () => {
    for (let index = next++; index < count; index = next++) {
      const url = urlOf(index)
      await sendForTask(port, plan, url ? { taskPushNotificationConfig: { url } } : undefined)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
}

/** Receivers at separate addresses. One in `oneIn` never responds. */
async function startReceivers(count: number, oneIn = Number.POSITIVE_INFINITY) {
  const healthy = Array.from({ length: count }, (_, index) => index).filter(
    (index) => index % oneIn !== oneIn - 1,
  ).length
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  let left = healthy * events
  const server = createServer((request, response) => {
    request.resume()
    const index = Number(request.url?.slice(1))
    if (index % oneIn === oneIn - 1) return
    response.writeHead(204).end()
    if (--left === 0) resolve()
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    complete,
    urlOf: (index: number) => `http://127.1.${index >> 8}.${index & 255}:${port}/${index}`,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
