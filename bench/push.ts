import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { postBytes, sendBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

/** Tasks whose deliveries are awaited. */
const tasks = 1_000
/** Tasks whose rate is measured: enough that garbage collection takes the same share of every sample. */
const rateTasks = 2_000
/** The chunks and three status updates: submitted, working, completed. */
const events = 20
const plan = JSON.stringify({ chunks: events - 3, bytes: 100, window: events })
const callers = 32
const hangingShare = 0.05

/** Tasks that send every event to a webhook, some of which never respond. */
export const push: Benchmark = {
  name: 'push',
  async run(): Promise<BenchmarkResult> {
    const deliveries = await interleave(5, {
      healthy: () => sampleDelivery(),
      hanging: () => sampleDelivery(Math.round(1 / hangingShare)),
    })
    const rates = await withServer(async (port) => {
      const candidates = { none: () => sampleRate(port, false), busy: () => sampleRate(port, true) }
      await interleave(2, candidates) // compiles what both need
      // A sample is short, and the speed of a shared machine changes by half within seconds.
      return await interleave(21, candidates)
    })
    const tasksPerSecond = (name: 'none' | 'busy') => ({
      'tasks/s': Math.round(median(rates.map((round) => round[name]))),
      'best round': Math.round(Math.max(...rates.map((round) => round[name]))),
    })
    const deliveredAfter = (name: 'healthy' | 'hanging') => ({
      [`${tasks * events} events delivered after s`]: Number(
        (median(deliveries.map((round) => round[name])) / 1_000).toPrecision(3),
      ),
    })
    return {
      title: `Tasks with a webhook each and ${events} events each, SQLite log`,
      comparisons: [
        {
          label: 'time until all healthy receivers have all events, 5 % hanging : none hanging',
          values: deliveries.map(({ healthy, hanging }) => hanging / healthy),
          unit: 'x',
          target: { atMost: 1.3 },
        },
        {
          label: 'tasks/s, webhooks : no webhooks',
          values: rates.map(({ none, busy }) => busy / none),
          unit: 'x',
          target: { atLeast: 0.9 },
        },
      ],
      details: [
        { webhooks: 'none', ...tasksPerSecond('none') },
        { webhooks: 'one each', ...tasksPerSecond('busy'), ...deliveredAfter('healthy') },
        { webhooks: 'one each, 5 % hang', ...deliveredAfter('hanging') },
      ],
      notes: [
        `${callers} callers wait for their tasks: ${rateTasks} for the rate, and ${tasks} until all events are delivered. Every receiver is a separate host. A hanging receiver hangs for longer than the run.`,
        'Callers and receivers share the other core and write to their sockets directly, so that the server is the bottleneck.',
      ],
    }
  },
}

/** Tasks per second while deliveries, if there are webhooks, are far behind. Waits for them afterwards. */
async function sampleRate(port: number, hasWebhooks: boolean): Promise<number> {
  await using receivers = await startReceivers(rateTasks)
  const start = performance.now()
  await run(port, rateTasks, (index) => (hasWebhooks ? receivers.urlOf(index) : undefined))
  const seconds = (performance.now() - start) / 1_000
  if (hasWebhooks) await receivers.complete
  return rateTasks / seconds
}

/** Milliseconds until every responding receiver has every event. */
async function sampleDelivery(oneHangingIn?: number): Promise<number> {
  await using receivers = await startReceivers(tasks, oneHangingIn)
  return await withServer(async (port) => {
    const start = performance.now()
    await run(port, tasks, receivers.urlOf)
    await receivers.complete
    return performance.now() - start
  })
}

/** Runs a new server, so that deliveries that are left do not affect the next sample. */
function withServer<T>(measure: (port: number) => Promise<T>): Promise<T> {
  return withDirectory(async (directory) => {
    const server = await startServer(new URL('./servers/parley-push.ts', import.meta.url), directory)
    try {
      await warmUp(server)
      return await measure(server.port)
    } finally {
      await server.stop()
    }
  })
}

/**
 * Excludes the modules that load with the first webhook, most of the compiling, and the garbage of both. The same for every
 * sample: a server that has sent webhooks has compiled more, and its heap has grown.
 */
async function warmUp(server: ServerProcess): Promise<void> {
  const count = 500
  await using receivers = await startReceivers(count)
  await run(server.port, count, receivers.urlOf)
  await receivers.complete
  await server.read('usageCollected')
}

async function run(port: number, count: number, urlOf: (index: number) => string | undefined): Promise<void> {
  let next = 0
  const nextRequest = () => {
    const index = next++
    if (index >= count) return undefined
    const url = urlOf(index)
    return postBytes(sendBody(plan, 'SendMessage', url ? { taskPushNotificationConfig: { url } } : undefined))
  }
  await Promise.all(Array.from({ length: callers }, () => call(port, nextRequest)))
}

/** Sends one request after the other, and expects a completed task each time. */
function call(port: number, nextRequest: () => Buffer | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const send = () => {
      const request = nextRequest()
      if (request) return socket.write(request)
      socket.destroy()
      return resolve()
    }
    const onResponse = (response: string) => {
      if (response.startsWith('HTTP/1.1 200') && response.includes('TASK_STATE_COMPLETED')) send()
      else reject(new Error(`expected a completed task, got ${response}`))
    }
    socket.once('connect', send)
    socket.on('data', createMessageReader(onResponse))
    socket.once('error', reject)
  })
}

/** Receivers at separate addresses. One in `oneIn` never responds. */
async function startReceivers(count: number, oneIn = Number.POSITIVE_INFINITY) {
  const healthy = Array.from({ length: count }, (_, index) => index).filter(
    (index) => index % oneIn !== oneIn - 1,
  ).length
  const { promise: complete, resolve } = Promise.withResolvers<void>()
  const sockets = new Set<Socket>()
  let left = healthy * events
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    socket.on('error', () => {})
    const onRequest = (request: string) => {
      const index = Number(/^POST \/(\d+) /.exec(request)?.[1])
      if (index % oneIn === oneIn - 1) return
      socket.write(noContent)
      if (--left === 0) resolve()
    }
    socket.on('data', createMessageReader(onRequest))
  })
  server.listen(0, '0.0.0.0')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    complete,
    urlOf: (index: number) => `http://127.1.${index >> 8}.${index & 255}:${port}/${index}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const noContent = Buffer.from('HTTP/1.1 204 No Content\r\n\r\n')

/** Calls back with every complete message. A message must have a length, and there is one at a time. */
function createMessageReader(onMessage: (message: string) => void): (chunk: Buffer) => void {
  let rest: Buffer | undefined
  return (chunk) => {
    const bytes = rest ? Buffer.concat([rest, chunk]) : chunk
    rest = bytes
    const headEnd = bytes.indexOf('\r\n\r\n')
    if (headEnd < 0) return
    const length = /\r\ncontent-length: *(\d+)/i.exec(bytes.toString('latin1', 0, headEnd))?.[1]
    if (length === undefined) throw new Error('expected a message with a length')
    if (bytes.length < headEnd + 4 + Number(length)) return
    rest = undefined
    onMessage(bytes.toString('latin1'))
  }
}
