import { join } from 'node:path'
import { createSqliteLog, serve, type TaskLog } from 'parley-a2a'
import { control, type ServerMetrics } from './control.ts'
import { createBenchAgent } from './parley-agent.ts'

/** Parley with a SQLite log that reports its memory use and the readers that wait for events. */
const [directory = '.'] = process.argv.slice(2)

let waiting = 0
const log: TaskLog = createSqliteLog({ file: join(directory, 'bench.db') })
const observedLog: TaskLog = {
  ...log,
  async wait(...args) {
    waiting++
    try {
      await log.wait(...args)
    } finally {
      waiting--
    }
  },
}

let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 10)

let gate = Promise.withResolvers<void>()
let finished = Promise.withResolvers<void>()
let half = 0
const agent = createBenchAgent({
  gate: () => gate.promise,
  onHalf: () => {
    half = performance.now()
  },
  onFinished: () => finished.resolve(),
})

async function openGate(): Promise<ServerMetrics['openGate']> {
  finished = Promise.withResolvers()
  const start = performance.now()
  gate.resolve()
  await finished.promise
  gate = Promise.withResolvers()
  const end = performance.now()
  return { milliseconds: end - start, secondHalf: end - half }
}

function takePeak(): number {
  const highest = Math.max(peak, process.memoryUsage.rss())
  peak = 0
  return highest
}

const { port } = await serve(agent, { log: observedLog, signals: false })
control(port, {
  openGate,
  peak: takePeak,
  waiting: () => waiting,
  handles: () => process.getActiveResourcesInfo().filter((name) => name !== 'Timeout' && name !== 'Immediate').length,
})
