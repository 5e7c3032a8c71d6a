import { readStream, sendBody } from './calls.ts'
import { interleave, median } from './measure.ts'
import type { Benchmark, BenchmarkResult } from './report.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import type { Plan } from './servers/plan.ts'
import { withDirectory } from './work-directory.ts'

const bytes = 100
const long: Plan = { chunks: 4_000, bytes }
const longest: Plan = { chunks: 16_000, bytes }
const short: Plan = { chunks: 500, bytes }
/** This many short tasks have as many events as the longest one. */
const shortTasks = longest.chunks / short.chunks

/** Streams of a new process: those that are not measured, and those that are. The engine has compiled the bare writer then. */
const newProcess = { skipped: 3, measured: 5 }

const parley = new URL('./servers/parley.ts', import.meta.url)
const bareServer = new URL('./servers/bare.ts', import.meta.url)

/** A task of many artifact chunks, streamed to one reader. */
export const longTask: Benchmark = {
  name: 'long-task',
  run: () => withDirectory(measure),
}

async function measure(directory: string): Promise<BenchmarkResult> {
  const servers = {
    memory: await startServer(parley),
    sqlite: await startServer(parley, directory),
    sdk: await startServer(new URL('./servers/sdk.ts', import.meta.url)),
    bare: await startServer(bareServer),
  }
  const { memory, sqlite, sdk, bare } = servers
  try {
    await sample(memory, long, 5)
    await sample(sqlite, long, 2)
    await sample(sdk, { chunks: 300, bytes }, 3)
    await sampleBare(bare, long, 5)
    // Only once: a single task keeps the SDK busy for many seconds.
    const sdkSample = await sample(sdk, long)
    const measured = await interleave(5, {
      memory: () => sample(memory, long, 5),
      sqlite: () => sample(sqlite, long, 3),
      bare: () => sampleBare(bare, long, 5),
    })
    const flat = await interleave(5, {
      short: () => sample(memory, short, shortTasks),
      longest: () => sample(memory, longest),
    })
    const flatOnDisk = await interleave(5, {
      short: () => sample(sqlite, short, shortTasks),
      longest: () => sample(sqlite, longest),
    })
    const inNewProcess = await interleave(5, {
      memory: () => inProcess(sample, parley),
      sqlite: () => withDirectory((own) => inProcess(sample, parley, own)),
      bare: () => inProcess(sampleBare, bareServer),
    })
    const cpu = (name: Measured) => measured.map((round) => sdkSample.cpu / round[name].cpu)
    const rate = (name: Measured) => measured.map((round) => round[name].rate / round.bare.rate)
    const newRate = (name: Measured) => inNewProcess.map((round) => round[name].rate / round.bare.rate)
    const newCpu = (name: Measured) => inNewProcess.map((round) => round.bare.cpu / round[name].cpu)
    const growth = (rounds: typeof flat) => rounds.map((round) => round.longest.cpu / round.short.cpu)
    const samples = (name: Name) => (name === 'sdk' ? [sdkSample] : measured.map((round) => round[name]))
    const detail = (name: Name) => ({
      server: labels[name],
      'events/s': Math.round(median(samples(name).map(({ rate }) => rate))),
      'server CPU µs/event': Number(median(samples(name).map(({ cpu }) => cpu)).toPrecision(3)),
    })
    return {
      title: `A task of ${long.chunks} artifact chunks of ${bytes} bytes, streamed to one reader`,
      comparisons: [
        { label: 'CPU, official SDK : memory log', values: cpu('memory'), unit: 'x', target: { atLeast: 100 } },
        { label: 'CPU, official SDK : SQLite log', values: cpu('sqlite'), unit: 'x' },
        {
          label: 'events/s, memory log : bare SSE writer',
          values: rate('memory'),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
        {
          label: 'events/s, SQLite log : bare SSE writer',
          values: rate('sqlite'),
          unit: 'x',
          target: { atLeast: 0.5 },
        },
        { label: 'the same in a new process, memory log', values: newRate('memory'), unit: 'x' },
        {
          label: 'the same in a new process, SQLite log',
          values: newRate('sqlite'),
          unit: 'x',
          target: { atLeast: 0.55 },
        },
        { label: 'the same by server CPU time, memory log', values: newCpu('memory'), unit: 'x' },
        { label: 'the same by server CPU time, SQLite log', values: newCpu('sqlite'), unit: 'x' },
        {
          label: 'CPU per event, 16,000 : 500 chunks, memory log',
          values: growth(flat),
          unit: 'x',
          target: { atMost: 1.2 },
        },
        {
          label: 'CPU per event, 16,000 : 500 chunks, SQLite log',
          values: growth(flatOnDisk),
          unit: 'x',
          target: { atMost: 1.2 },
        },
      ],
      details: (Object.keys(labels) as Name[]).map(detail),
      notes: [
        'The agent awaits every chunk, and readers get only stored events. Chunks that wait for the disk together share a commit.',
        `In a new process: streams ${newProcess.skipped + 1} to ${newProcess.skipped + newProcess.measured}, while the engine still compiles. [Decision 55](../decisions/0055-awaited-streams.md) says why that differs.`,
      ],
    }
  } finally {
    for (const server of Object.values(servers)) await server.stop()
  }
}

const labels = {
  memory: 'Parley, memory log',
  sqlite: 'Parley, SQLite log (durable)',
  sdk: '@a2a-js/sdk 1.3.0 on Express, memory',
  bare: 'bare SSE writer, one write per event and event loop turn',
}
type Name = keyof typeof labels
type Measured = Exclude<Name, 'sdk'>

interface Sample {
  /** Events per second at the reader. */
  readonly rate: number
  /** Server CPU microseconds per event. */
  readonly cpu: number
}

function sample(server: ServerProcess, plan: Plan, tasks = 1): Promise<Sample> {
  // The stream also contains the task, its final status and, on some servers, the status before the chunks.
  return sampleStreams(server, { plan, tasks, path: '/', events: plan.chunks + 2, end: 'TASK_STATE_COMPLETED' })
}

function sampleBare(server: ServerProcess, plan: Plan, tasks: number): Promise<Sample> {
  return sampleStreams(server, { plan, tasks, path: '/stream', events: plan.chunks, end: 'artifactUpdate' })
}

/** Samples the streams of a process that has just started. */
async function inProcess(
  take: (server: ServerProcess, plan: Plan, tasks: number) => Promise<Sample>,
  script: URL,
  ...args: readonly string[]
): Promise<Sample> {
  const server = await startServer(script, ...args)
  try {
    await take(server, long, newProcess.skipped)
    return await take(server, long, newProcess.measured)
  } finally {
    await server.stop()
  }
}

interface Expected {
  readonly plan: Plan
  readonly tasks: number
  readonly path: string
  readonly events: number
  readonly end: string
}

async function sampleStreams(server: ServerProcess, { plan, tasks, path, events, end }: Expected): Promise<Sample> {
  const body = sendBody(JSON.stringify(plan), 'SendStreamingMessage')
  const before = await server.read('usage')
  let milliseconds = 0
  for (let task = 0; task < tasks; task++) {
    const stream = await readStream(server.port, body, path)
    if (stream.events < events || !stream.last.includes(end)) {
      throw new Error(`expected at least ${events} events, got ${stream.events}; the last is ${stream.last}`)
    }
    milliseconds += stream.milliseconds
  }
  const after = await server.read('usage')
  const chunks = plan.chunks * tasks
  return { rate: (chunks / milliseconds) * 1_000, cpu: (after.cpu - before.cpu) / chunks }
}
