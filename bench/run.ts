import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { auth } from './auth.ts'
import { blockingSend } from './blocking-send.ts'
import { consoleCost } from './console.ts'
import { dialects } from './dialects.ts'
import { discovery } from './discovery.ts'
import { gateway } from './gateway.ts'
import { grpc } from './grpc.ts'
import { importTime } from './import-time.ts'
import { longRead } from './long-read.ts'
import { longTask } from './long-task.ts'
import { loop } from './loop.ts'
import { memoryUse } from './memory.ts'
import { mesh } from './mesh.ts'
import { postgresAppend } from './postgres-append.ts'
import { postgresLatency } from './postgres-latency.ts'
import { postgresLongRead } from './postgres-long-read.ts'
import { postgresLongTask } from './postgres-long-task.ts'
import { postgresSend } from './postgres-send.ts'
import { push } from './push.ts'
import { type BenchmarkResult, isMet, printResult, toMarkdown } from './report.ts'
import { pinToLoadCore } from './server-process.ts'
import { slowReaders } from './slow-readers.ts'
import { startUp } from './start-up.ts'
import { workers } from './workers.ts'

/** Runs all benchmarks, or those named as arguments, on the package built in `dist/`. */
const benchmarks = [
  auth,
  blockingSend,
  consoleCost,
  dialects,
  discovery,
  gateway,
  grpc,
  importTime,
  longRead,
  longTask,
  loop,
  memoryUse,
  mesh,
  postgresAppend,
  postgresLatency,
  postgresLongRead,
  postgresLongTask,
  postgresSend,
  push,
  slowReaders,
  startUp,
  workers,
]
const names = process.argv.slice(2)
const unknown = names.filter((name) => !benchmarks.some((benchmark) => benchmark.name === name))
if (unknown.length > 0)
  throw new Error(`no benchmark ${unknown}; there are ${benchmarks.map(({ name }) => name).join(', ')}`)
if (!existsSync(new URL('../dist/index.js', import.meta.url)))
  throw new Error('the package is not built: run npm run build')

pinToLoadCore()
const results: BenchmarkResult[] = []
for (const benchmark of benchmarks) {
  if (names.length > 0 && !names.includes(benchmark.name)) continue
  const result = await benchmark.run()
  printResult(result)
  results.push(result)
}
if (names.length === 0)
  await writeFile(new URL('../docs/reference/benchmarks.md', import.meta.url), toMarkdown(results))
if (!results.every(({ comparisons }) => comparisons.every(isMet))) process.exitCode = 1
