import { legacySendBody, sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer, unpin } from './server-process.ts'
import { type Sample, withUsage } from './with-usage.ts'
import { withDirectory } from './work-directory.ts'
import { hasWrk, loadWithWrk } from './wrk.ts'

const rounds = 15
const connections = 50
const milliseconds = 1_200
const warmUp = 3_000
/** As in `blocking-send.ts`. */
const withWrk = { connections: 32, seconds: 2 }

const bodies = {
  '1.0': sendBody('Hello', 'SendMessage'),
  '0.3': legacySendBody('0.3', 'Hello'),
  '0.1': legacySendBody('0.1', 'Hello'),
}
type Version = keyof typeof bodies

/** The same blocking send in three dialects to one server. */
export const dialects: Benchmark = { name: 'dialects', run: () => withDirectory(measure) }

async function measure(directory: string): Promise<BenchmarkResult> {
  using _allCores = hasWrk ? unpin() : undefined
  const sample = (version: Version) =>
    hasWrk
      ? withUsage(server, () =>
          loadWithWrk({ port: server.port, ...withWrk, body: bodies[version], version, directory }),
        )
      : rate(server, version, milliseconds)
  const server = await startServer(new URL('./servers/parley.ts', import.meta.url))
  try {
    for (const version of Object.keys(bodies) as Version[]) await rate(server, version, warmUp)
    const measured = await interleave(rounds, {
      '1.0': () => sample('1.0'),
      '0.3': () => sample('0.3'),
      '0.1': () => sample('0.1'),
    })
    const against = (version: Version) => measured.map((round) => round[version].rate / round['1.0'].rate)
    return {
      title: `The same blocking send in older dialects, ${hasWrk ? `wrk with ${withWrk.connections}` : connections} connections, requests/s`,
      comparisons: [
        { label: '0.3 : 1.0', values: against('0.3'), unit: 'x', target: { atLeast: 0.97 } },
        { label: '0.1 : 1.0', values: against('0.1'), unit: 'x', target: { atLeast: 0.97 } },
      ],
      details: (Object.keys(bodies) as Version[]).map((version) => ({
        dialect: version,
        'requests/s': Math.round(median(measured.map((round) => round[version].rate))),
        'server CPU µs/request': Math.round(median(measured.map((round) => round[version].cpu))),
      })),
    }
  } finally {
    await server.stop()
  }
}

function rate(server: ServerProcess, version: Version, milliseconds: number): Promise<Sample> {
  const { port } = server
  return withUsage(server, () => load({ port, body: bodies[version], version, connections, milliseconds }))
}
