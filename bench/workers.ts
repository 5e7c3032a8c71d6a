import { sendBody } from './calls.ts'
import { load } from './load.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer, unpin } from './server-process.ts'
import { withDirectory } from './work-directory.ts'

const rounds = 7
const connections = 50
const milliseconds = 1_500

/** Blocking sends to one and to two processes that share a port and a SQLite file. */
export const workers: Benchmark = {
  name: 'workers',
  async run() {
    using _ = unpin()
    return await withDirectory((one) => withDirectory((two) => measure(one, two)))
  },
}

async function measure(...[directoryOfOne, directoryOfTwo]: readonly [string, string]): Promise<BenchmarkResult> {
  const script = new URL('./servers/parley-cluster.ts', import.meta.url)
  const one = await startServer(script, directoryOfOne, '1')
  const two = await startServer(script, directoryOfTwo, '2')
  try {
    for (let n = 0; n < 4; n++) for (const server of [one, two]) await sample(server)
    const measured = await interleave(rounds, { one: () => sample(one), two: () => sample(two) })
    const rate = (name: 'one' | 'two') => Math.round(median(measured.map((round) => round[name])))
    return {
      title: `Blocking sends to processes that share a port and a SQLite file, ${connections} connections`,
      comparisons: [
        {
          label: 'requests/s, two processes : one process',
          values: measured.map((round) => round.two / round.one),
          unit: 'x',
        },
      ],
      details: [
        { processes: 1, 'requests/s': rate('one') },
        { processes: 2, 'requests/s': rate('two') },
      ],
      notes: [
        'The load generator needs a core of its own: on a machine with two cores, two processes have to share one with it.',
      ],
    }
  } finally {
    for (const server of [one, two]) await server.stop()
  }
}

async function sample({ port }: ServerProcess): Promise<number> {
  const body = sendBody('Hello', 'SendMessage')
  const { requests, seconds } = await load({ port, body, connections, milliseconds })
  return requests / seconds
}
