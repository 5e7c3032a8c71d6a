/**
 * Runs other implementations of A2A against Parley: `npm run interop`, or `npm run interop -- google-adk-2 fasta2a` for
 * some of them, whose results replace their earlier ones. Installs them into a scratch folder, `PARLEY_INTEROP_DIR` or one below the temporary folder.
 */
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { connect } from '../../../src/core/client/connect.ts'
import { grpc } from '../../../src/core/node/grpc-client.ts'
import { serveInteropAgent } from './agent.ts'
import { clientChecks, standardChecks } from './client-checks.ts'
import { type Installation, NotInstalled } from './install.ts'
import { type Peer, type PeerProgram, peers } from './peers.ts'
import type { Exchange, Recording } from './recording.ts'
import { startRecordingProxy } from './recording-proxy.ts'
import { type CheckResult, type ProgramResult, writeReport } from './report.ts'

const scratch = process.env.PARLEY_INTEROP_DIR ?? join(tmpdir(), 'parley-interop')
const recordings = fileURLToPath(new URL('../recorded/', import.meta.url))
const page = fileURLToPath(new URL('../../../docs/reference/interop.md', import.meta.url))

/** Milliseconds for all checks of one program. */
const programTimeout = 180_000

/** Milliseconds for one check of our client. */
const checkTimeout = 40_000

const date = new Date().toISOString().slice(0, 10)
const names = process.argv.slice(2)
const unknown = names.find((name) => !peers.some((peer) => peer.name === name))
if (unknown !== undefined) throw new Error(`There is no peer ${unknown}: ${peers.map(({ name }) => name).join(', ')}`)
const results: ProgramResult[] = []
await mkdir(scratch, { recursive: true })
await mkdir(recordings, { recursive: true })
for (const peer of peers) {
  if (names.length > 0 && !names.includes(peer.name)) continue
  results.push(...(await runPeer(peer)))
}
for (const { peer, role, transport, checks, notRun } of results) {
  const failed = checks.filter(({ ok }) => !ok).map(({ check, detail }) => `${check} (${detail})`)
  console.log(`${peer} ${role} ${transport}: ${notRun ?? (failed.length > 0 ? failed.join('; ') : 'passed')}`)
}
await writeReport(page, results, { date, peers: peers.map(({ name }) => name) })

async function runPeer(peer: Peer): Promise<readonly ProgramResult[]> {
  let installation: Installation
  try {
    installation = await peer.install(join(scratch, peer.name))
  } catch (error) {
    if (!(error instanceof NotInstalled)) throw error
    console.error(error.cause ?? error)
    return [{ peer: peer.name, version: '–', role: 'client', transport: '–', checks: [], notRun: error.message }]
  }
  const done: ProgramResult[] = []
  for (const program of peer.clients(installation)) done.push(await runClient(peer, installation, program))
  for (const program of peer.servers(installation)) done.push(await runServer(peer, installation, program))
  return done
}

/** Starts the client of a peer against a Parley agent. */
async function runClient(peer: Peer, { version }: Installation, program: PeerProgram): Promise<ProgramResult> {
  const directory = await mkdtemp(join(tmpdir(), 'parley-'))
  const { transport } = program
  const server = await serveInteropAgent(directory, program.agent)
  const proxy = await startRecordingProxy(server.url)
  try {
    // The proxy speaks HTTP/1.1, which gRPC does not use.
    const url = transport === 'GRPC' ? server.url : proxy.url
    const checks = await checksOf(program, url)
    const result = { peer: peer.name, version, role: 'client', transport, checks } as const
    await save(result, proxy.exchanges, { agent: program.agent })
    return result
  } finally {
    await proxy.close()
    await server.close()
    await rm(directory, { recursive: true, force: true })
  }
}

async function checksOf({ command: [program, ...options], transport }: PeerProgram, url: string) {
  const child = spawn(program, [...options, url, transport], { stdio: ['ignore', 'pipe', 'pipe'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), programTimeout)
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString()).slice(-2_000)
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', resolve))
  const checks: CheckResult[] = []
  for await (const line of createInterface({ input: child.stdout })) {
    if (line.startsWith('{"check"')) checks.push(JSON.parse(line))
  }
  const code = await ended
  clearTimeout(timer)
  if (code !== 0 || checks.length === 0) {
    const detail = log.trim().split('\n').at(-1) ?? `it ended with ${code}`
    checks.push({ check: 'start', ok: false, detail })
  }
  return checks
}

/** Calls the agent of a peer with Parley's client. */
async function runServer(peer: Peer, { version }: Installation, program: PeerProgram): Promise<ProgramResult> {
  const { transport, command } = program
  const [executable, ...options] = command
  const child = spawn(executable, [...options, transport], { stdio: ['ignore', 'pipe', 'inherit'] })
  const timer = setTimeout(() => child.kill('SIGKILL'), programTimeout)
  try {
    const { value: url } = await createInterface({ input: child.stdout })[Symbol.asyncIterator]().next()
    const checks: CheckResult[] = []
    const result = { peer: peer.name, version, role: 'server', transport, checks } as const
    if (typeof url !== 'string') {
      checks.push({ check: 'start', ok: false, detail: 'The server did not start.' })
      return result
    }
    await untilListening(url)
    const proxy = await startRecordingProxy(url)
    const { pathname, search } = new URL(url)
    const path = pathname + search
    checks.push(...(await checkServer(proxy.url + path, program, proxy.startCheck)))
    await save(result, proxy.exchanges, path === '/' ? {} : { cardPath: path })
    await proxy.close()
    return result
  } finally {
    clearTimeout(timer)
    child.kill('SIGKILL')
  }
}

async function checkServer(url: string, { transport, checks }: PeerProgram, onCheck: (check: string) => void) {
  const overGrpc = grpc({ loopback: 'allow' })
  const bindings = [transport === 'GRPC' ? overGrpc : transport]
  const results: CheckResult[] = []
  for (const [check, run] of Object.entries(clientChecks)) {
    if (!(checks ?? standardChecks).includes(check)) continue
    onCheck(check)
    const work = connect(url, { timeout: 20_000, retry: { tries: 1 }, bindings }).then(run)
    results.push(await outcomeOf(check, work))
  }
  overGrpc.close()
  return results
}

async function outcomeOf(check: string, work: Promise<void>): Promise<CheckResult> {
  let timer: NodeJS.Timeout | undefined
  const hangs = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error('It hangs.')), checkTimeout)
  })
  try {
    await Promise.race([work, hangs])
    return { check, ok: true }
  } catch (error) {
    return { check, ok: false, detail: String(error) }
  } finally {
    clearTimeout(timer)
  }
}

/** The server prints its address before it accepts connections. */
async function untilListening(url: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const response = await fetch(url).catch(() => undefined)
    if (response) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

async function save(
  result: ProgramResult,
  exchanges: readonly Exchange[],
  more: Pick<Recording, 'agent' | 'cardPath'>,
): Promise<void> {
  const { peer, version, role, transport, checks } = result
  if (transport === 'GRPC' || exchanges.length === 0) return
  const passed = checks.filter(({ ok }) => ok).map(({ check }) => check)
  const recording: Recording = { peer, version, date, role, transport, ...more, passed, exchanges }
  const name = `${peer}-${role}-${transport.replace('+', '-').toLowerCase()}.json`
  await writeFile(join(recordings, name), `${JSON.stringify(recording, null, 1)}\n`)
}
