import { setTimeout as sleep } from 'node:timers/promises'

/** Metrics and commands of a server process. */
export interface ServerMetrics {
  /** Resources used so far. */
  readonly usage: Usage
  /** The same, after garbage collection. */
  readonly usageCollected: Usage
  /** Highest RSS since the last request. */
  readonly peak: number
  /** Lets the agent of a gated task continue. Resolves with its duration when it has finished. */
  readonly openGate: { readonly milliseconds: number; readonly secondHalf: number }
  /** Number of readers that wait for events. */
  readonly waiting: number
  /** Number of open handles such as sockets. */
  readonly handles: number
}

export interface Usage {
  /** CPU microseconds of all threads. */
  readonly cpu: number
  readonly rss: number
  readonly heap: number
}

export interface MetricRequest {
  readonly id: number
  readonly metric: keyof ServerMetrics
}

export type ServerMessage = { readonly port: number } | { readonly id: number; readonly value: unknown }

type MetricReaders = {
  readonly [Name in keyof ServerMetrics]?: () => ServerMetrics[Name] | Promise<ServerMetrics[Name]>
}

/** Sends the port to the benchmark and answers its requests until it disconnects. */
export function control(port: number, more: MetricReaders = {}): void {
  const readers: MetricReaders = { usage, usageCollected, ...more }
  process.on('message', async ({ id, metric }: MetricRequest) => {
    send({ id, value: await readers[metric]?.() })
  })
  process.on('disconnect', () => process.exit())
  send({ port })
}

function send(message: ServerMessage): void {
  process.send?.(message)
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  const { rss, heapUsed } = process.memoryUsage()
  return { cpu: user + system, rss, heap: heapUsed }
}

async function usageCollected(): Promise<Usage> {
  // More than once, because finalizers release more objects.
  for (let pass = 0; pass < 3; pass++) {
    globalThis.gc?.()
    await sleep(20)
  }
  return usage()
}
