import { checkResponse, sample, warm } from './blocking-send.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { startServer } from './server-process.ts'
import { timeToResponse } from './start-up.ts'
import type { Sample } from './with-usage.ts'
import { withDirectory } from './work-directory.ts'

/** `BENCH_ROUNDS` makes a quick run, to see whether the benchmark works. */
const rounds = Number(process.env.BENCH_ROUNDS ?? 15)
const milliseconds = 1_200

/** What the console costs a server while no page of it is open. */
export const consoleCost: Benchmark = {
  name: 'console',
  async run() {
    const sends = await withDirectory((on) => withDirectory((off) => measureSends(on, off)))
    const starts = await measureStarts()
    return {
      title: 'A server with its console, of which no page is open, compared with `console: false` (SQLite log)',
      comparisons: [...sends.comparisons, ...starts.comparisons],
      details: [...(sends.details ?? []), ...(starts.details ?? [])],
    }
  },
}

type Part = Pick<BenchmarkResult, 'comparisons' | 'details'>

/** Blocking sends. The logger drops lines, but wants those of level `info`, so that the console keeps and stores them. */
async function measureSends(onDirectory: string, offDirectory: string): Promise<Part> {
  const script = new URL('./servers/parley-console.ts', import.meta.url)
  const servers = {
    on: await startServer(script, onDirectory, 'on'),
    off: await startServer(script, offDirectory, 'off'),
  }
  try {
    for (const server of Object.values(servers)) {
      await checkResponse(server)
      await warm(server)
    }
    const measured = await interleave(rounds, {
      on: () => sample(servers.on, milliseconds),
      off: () => sample(servers.off, milliseconds),
    })
    const detail = (name: 'on' | 'off') => ({
      server: `blocking send, console ${name}`,
      'CPU µs/request': Math.round(median(measured.map((round): Sample => round[name]).map(({ cpu }) => cpu))),
    })
    return {
      comparisons: [
        {
          label: 'server CPU per blocking send, on : off',
          values: measured.map(({ on, off }) => on.cpu / off.cpu),
          unit: 'x',
          target: { atMost: 1.05 },
        },
      ],
      details: [detail('on'), detail('off')],
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}

async function measureStarts(): Promise<Part> {
  const script = new URL('./servers/start-parley.js', import.meta.url)
  const start = (mode: string) =>
    withDirectory((directory) => timeToResponse(script, 'TASK_STATE_COMPLETED', directory, mode))
  const measured = await interleave(rounds, { on: () => start('on'), off: () => start('off') })
  const detail = (name: 'on' | 'off') => ({
    server: `start-up, console ${name}`,
    milliseconds: Math.round(median(measured.map((round) => round[name]))),
  })
  return {
    comparisons: [
      {
        label: 'time from `node` to the first response, on : off',
        values: measured.map(({ on, off }) => on / off),
        unit: 'x',
        target: { atMost: 1.05 },
      },
    ],
    details: [detail('on'), detail('off')],
  }
}
