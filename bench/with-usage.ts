import type { Load } from './load.ts'
import type { ServerProcess } from './server-process.ts'

export interface Sample {
  readonly requests: number
  /** Requests per second. */
  readonly rate: number
  /** Server CPU microseconds per request. */
  readonly cpu: number
}

/** Runs a load and measures its CPU cost on the server. */
export async function withUsage(server: ServerProcess, run: () => Promise<Load>): Promise<Sample> {
  const before = await server.read('usage')
  const { requests, seconds } = await run()
  const after = await server.read('usage')
  return { requests, rate: requests / seconds, cpu: (after.cpu - before.cpu) / requests }
}
