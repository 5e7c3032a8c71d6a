import type { Load } from './load.ts'
import type { ServerProcess } from './server-process.ts'

export interface Sample {
  /** Requests per second. */
  readonly rate: number
  /** Microseconds of the server for one request. */
  readonly cpu: number
}

/** A load, and what it cost the server. */
export async function withUsage(server: ServerProcess, run: () => Promise<Load>): Promise<Sample> {
  const before = await server.ask('usage')
  const { requests, seconds } = await run()
  const after = await server.ask('usage')
  return { rate: requests / seconds, cpu: (after.cpu - before.cpu) / requests }
}
