import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sendForTask } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Answer, Question } from './report.ts'
import { startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const tasks = 1_000
/** Beside the chunks there are two statuses. */
const events = 20
const plan = JSON.stringify({ chunks: events - 2, bytes: 100, window: events })
const callers = 32
const hangingShare = 0.05

/** Tasks whose every event goes to a webhook, some of which never answer. */
export const push: Question = {
  name: 'push',
  async ask(): Promise<Answer> {
    const rounds = await interleave(3, {
      none: () => sample('none'),
      healthy: () => sample('healthy'),
      hanging: () => sample('hanging'),
    })
    const delivery = rounds.map(({ healthy, hanging }) => hanging.delivered / healthy.delivered)
    const throughput = rounds.map(({ none, healthy }) => none.answered / healthy.answered)
    const detail = (name: Name) => ({
      webhooks: labels[name],
      'tasks/s': Math.round(tasks / (median(rounds.map((round) => round[name].answered)) / 1_000)),
      'all told after s': Number((median(rounds.map((round) => round[name].delivered)) / 1_000).toPrecision(3)),
    })
    return {
      title: `${tasks} tasks with a webhook each and ${events} events each, SQLite log`,
      verdicts: [
        {
          what: 'time until all healthy receivers have all, 5 % hanging : none hanging',
          values: delivery,
          unit: 'x',
          target: { atMost: 1.3 },
        },
        { what: 'tasks/s, webhooks : no webhooks', values: throughput, unit: 'x', target: { atLeast: 0.8 } },
      ],
      details: (Object.keys(labels) as Name[]).map(detail),
      notes: [
        `${callers} callers wait for their tasks; every receiver is a host of its own. What hangs, hangs for longer than the run.`,
      ],
    }
  },
}

const labels = { none: 'none', healthy: 'one each', hanging: 'one each, 5 % hang' }
type Name = keyof typeof labels

interface Sample {
  /** Milliseconds until all tasks had ended for their callers. */
  readonly answered: number
  /** Milliseconds until every receiver that answers had every event. */
  readonly delivered: number
}

/** Each on a server of its own, so that what still hangs disturbs nobody. */
function sample(kind: Name): Promise<Sample> {
  return withDirectory(async (directory) => {
    const server = await startServer(new URL('./servers/parley-push.ts', import.meta.url), directory)
    const receivers = await startReceivers(tasks, kind === 'hanging' ? Math.round(1 / hangingShare) : undefined)
    try {
      await warmUp(server.port, kind)
      const begin = performance.now()
      await run(server.port, tasks, (at) => (kind === 'none' ? undefined : receivers.urlOf(at)))
      const answered = performance.now() - begin
      if (kind !== 'none') await receivers.complete
      return { answered, delivered: performance.now() - begin }
    } finally {
      await server.stop()
      receivers.stop()
    }
  })
}

/** What is loaded for the first webhook is part of no rate. */
async function warmUp(port: number, kind: Name): Promise<void> {
  const count = 50
  const receivers = await startReceivers(count)
  await run(port, count, (at) => (kind === 'none' ? undefined : receivers.urlOf(at)))
  if (kind !== 'none') await receivers.complete
  receivers.stop()
}

async function run(port: number, count: number, urlOf: (at: number) => string | undefined): Promise<void> {
  let next = 0
  const call = async () => {
    for (let at = next++; at < count; at = next++) {
      const url = urlOf(at)
      await sendForTask(port, plan, url ? { taskPushNotificationConfig: { url } } : undefined)
    }
  }
  await Promise.all(Array.from({ length: callers }, call))
}

/** Receivers at addresses of their own, of which one in so many never answers. */
async function startReceivers(count: number, oneIn = Number.POSITIVE_INFINITY) {
  const healthy = Array.from({ length: count }, (_, at) => at).filter((at) => at % oneIn !== oneIn - 1).length
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  let left = healthy * events
  const server = createServer((request, response) => {
    request.resume()
    const at = Number(request.url?.slice(1))
    if (at % oneIn === oneIn - 1) return
    response.writeHead(204).end()
    if (--left === 0) resolve()
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    complete,
    urlOf: (at: number) => `http://127.1.${at >> 8}.${at & 255}:${port}/${at}`,
    stop() {
      server.closeAllConnections()
      server.close()
    },
  }
}
