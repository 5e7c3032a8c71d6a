import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Session } from 'node:inspector/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect } from '../src/entries/client.node.ts'
import { agent, createSqliteLog, type ServeOptions, serve } from '../src/entries/index.ts'
import { sendForTask } from './calls.ts'
import { withDirectory } from './work-directory.ts'

/**
 * Lists the files of src/ that run code during every one of twenty warm calls, with the functions that ran in each:
 *
 *     node bench/trace-files.ts send      handles a blocking SendMessage over JSON-RPC 1.0 with a SQLite log
 *     node bench/trace-files.ts connect   connects to an agent with a 0.3 card and sends it a message
 *
 * It runs the sources, not the build, and counts by V8's precise coverage.
 */
const root = fileURLToPath(new URL('../src/', import.meta.url))

/** Functions that did not run in each of several calls belong to a timer and not to the call. */
const tracedCalls = 20

const scenarios: Readonly<Record<string, (directory: string) => Promise<void>>> = {
  async send(directory) {
    const { port, close } = await serveAgent(directory)
    await sendForTask(port, 'Hello')
    await trace(() => sendForTask(port, 'Hello'))
    await close()
  },
  async connect(directory) {
    const child = fork(fileURLToPath(import.meta.url), ['serve', directory])
    const [url] = await once(child, 'message')
    const call = async () => await (await connect(url)).send('Hello')
    await call()
    await trace(call)
    child.disconnect()
  },
  /** The agent for `connect`, in a separate process so that only the client is counted. */
  async serve(directory) {
    const { url, close } = await serveAgent(directory, { dialects: { speak: ['v0.3'], cards: '0.3' } })
    process.send?.(url)
    await once(process, 'disconnect')
    await close()
  },
}

const [name = 'send', directory] = process.argv.slice(2)
const scenario = scenarios[name]
if (!scenario) throw new Error(`no scenario ${name}; there are send and connect`)
await (directory === undefined ? withDirectory(scenario) : scenario(directory))

async function serveAgent(directory: string, options: ServeOptions = {}) {
  const echo = agent({ name: 'Bench' }, async (turn) => {
    void turn.status('working')
    void turn.artifact('answer').close('Hello from the bench')
    await turn.status('completed')
  })
  const log = createSqliteLog({ file: join(directory, 'trace.db') })
  return await serve(echo, { log, signals: false, ...options })
}

async function trace(call: () => Promise<unknown>): Promise<void> {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  await session.post('Profiler.takePreciseCoverage')
  let executed: ReadonlyMap<string, readonly string[]> | undefined
  for (let n = 0; n < tracedCalls; n++) {
    await call()
    const functions = await takeExecuted(session)
    executed = executed ? intersect(executed, functions) : functions
  }
  session.disconnect()
  const files = [...(executed ?? [])].sort(([one], [other]) => (one < other ? -1 : 1))
  for (const [file, functions] of files) console.log(`${file}  ${functions.length}  ${functions.map(nameOf).join(' ')}`)
  console.log(`${files.length} files, ${files.reduce((sum, [, functions]) => sum + functions.length, 0)} functions`)
}

/** The functions that ran since the last call, by file. Two functions of one name in a file count as two. */
async function takeExecuted(session: Session): Promise<ReadonlyMap<string, readonly string[]>> {
  const { result } = await session.post('Profiler.takePreciseCoverage')
  const executed = new Map<string, readonly string[]>()
  for (const { url, functions } of result) {
    if (!url.startsWith('file:') || !fileURLToPath(url).startsWith(root)) continue
    const names = functions
      .filter(({ ranges }) => (ranges[0]?.count ?? 0) > 0)
      .map(({ functionName, ranges }) => `${functionName}:${ranges[0]?.startOffset}`)
    if (names.length > 0) executed.set(relative(root, fileURLToPath(url)), names)
  }
  return executed
}

function intersect(
  one: ReadonlyMap<string, readonly string[]>,
  other: ReadonlyMap<string, readonly string[]>,
): ReadonlyMap<string, readonly string[]> {
  const entries = Array.from(one, ([file, functions]): [string, readonly string[]] => [
    file,
    functions.filter((name) => other.get(file)?.includes(name)),
  ])
  return new Map(entries.filter(([, functions]) => functions.length > 0))
}

function nameOf(located: string): string {
  return located.slice(0, located.lastIndexOf(':'))
}
