import type { DoctorObserver } from '../conformance/doctor/report.ts'
import { redactSecrets } from '../core/base/error-summary.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { packageVersion } from '../core/base/package-version.ts'
import { hostOf, isThisMachine } from '../core/http/address-guard.ts'
import type { Exchange, Incoming, Outgoing } from '../core/http/exchange.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { loggedError } from '../core/protocol/errors.ts'
import type { Host, HostPages } from '../core/server/host.ts'
import type { ConsoleAccess } from '../operator/access.ts'
import type { RunCheck } from '../operator/checks.ts'
import type { Finding, MeshState } from '../operator/contract-tools.ts'
import { consolePath } from '../operator/options.ts'
import type { ConsoleRecorder } from '../operator/recorder.ts'
import type { ServeOptions } from './options.ts'

const rollUpInterval = 60_000

export interface ServedConsoleOptions {
  readonly options: ServeOptions
  readonly console: ConsoleAccess
  readonly mounted: Host['mounted']
  readonly logger: Logger
  readonly recorder: ConsoleRecorder
  /** The URL at which the server listens. Undefined before it does. */
  readonly address: () => string | undefined
  /** If the server is a mesh peer. Undefined until the peer is ready. */
  readonly mesh?: (() => MeshState | undefined) | undefined
}

/** The console as pages of a host. Its code is loaded by its first request. */
export function createConsolePages(settings: ServedConsoleOptions): HostPages {
  const { options, console, mounted, logger, recorder, address, mesh } = settings
  const started = Date.now()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('../operator/console.ts'),
      import('./console-files.ts'),
    ])
    return createConsole({
      options: console,
      mounted,
      files: createConsoleFiles(),
      logger,
      lines: { process: recorder.process, of: ({ log }) => recorder.linesOf(log) },
      mesh: mesh && { process: recorder.process, state: mesh },
      checks: { doctor: runDoctor, conformance: runConformance },
      version: packageVersion,
      started,
      address,
      publicUrl: options.publicUrl,
      trustProxy: options.trustProxy,
      hosts: options.http?.hosts,
    })
  }

  async function answer(incoming: Incoming) {
    loaded ??= load().catch((error) => {
      loaded = undefined
      throw error
    })
    return await (await loaded)(incoming)
  }

  /** Stores what happened in each minute, so that the overview has it after a restart. */
  async function rollUp(): Promise<void> {
    const agents = mounted().map(({ agent }) => agent)
    if (agents.every(({ isDraining }) => isDraining())) return clearInterval(timer)
    const { rollUpMinutes } = await import('../operator/minutes.ts')
    for (const { log } of agents) if (log.operator) await rollUpMinutes(log.operator, Date.now())
    await recorder.upkeep(mesh?.())
  }
  const timer = setInterval(() => {
    // It is tried again, and what it has missed is made up for then.
    rollUp().catch((error) => logger.debug({ error: loggedError(error) }, 'minutes could not be stored'))
  }, rollUpInterval).unref()

  return {
    path: consolePath,
    exchange: async (incoming) => (incoming.path === '/' ? toConsole(options) : await answer(incoming)),
  }
}

function toConsole({ publicUrl }: ServeOptions): Outgoing {
  const prefix = publicUrl === undefined ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
  return { status: 303, headers: { location: `${prefix}${consolePath}/` } }
}

/** Judges an agent by the conformance suite, which is loaded when it runs. */
const runConformance: RunCheck = async ({ url, signal, onFinding }) => {
  const [{ conformance }, calls] = await Promise.all([import('../conformance/conformance.ts'), createCalls(url)])
  const report = await conformance(url, {
    signal,
    fetch: calls.fetch,
    onCheck({ rule, version, binding, level, title, outcome, problem, expects, evidence }) {
      onFinding(
        defined({
          id: `${rule} ${version} ${binding}`,
          level,
          title,
          outcome: outcome === 'not measured' ? 'not-measured' : outcome,
          detail: problem,
          remedy: problem === undefined ? undefined : expects,
          evidence: evidence && redactSecrets(`${evidence.request}\n\n${evidence.answer}`),
        }),
      )
    },
  }).finally(calls.close)
  const count = (outcome: string) => report.checks.filter((check) => check.outcome === outcome).length
  const counts = { passed: count('passed'), failed: count('failed'), 'not-measured': count('not measured') }
  return { report: report.toJSON(), counts }
}

/** Diagnoses an agent as `parley doctor` does, without credentials. The code is loaded when it runs. */
const runDoctor: RunCheck = async ({ url, signal, onProbe, onFinding }) => {
  const [{ diagnose }, { bySeverity }, { inspectTls }, calls] = await Promise.all([
    import('../conformance/doctor/diagnose.ts'),
    import('../conformance/doctor/report.ts'),
    import('../core/node/tls-session.ts'),
    createCalls(url),
  ])
  const counts: Record<string, number> = { error: 0, warning: 0, info: 0, ok: 0 }
  const add = (finding: Finding) => {
    counts[finding.outcome] = (counts[finding.outcome] ?? 0) + 1
    onFinding(finding)
  }
  const observer: DoctorObserver = {
    onProbe,
    onFinding({ id, severity, subject, problem, fix, evidence }) {
      add(
        defined({
          id,
          outcome: severity,
          title: problem,
          detail: subject,
          remedy: fix,
          evidence: evidence.length > 0 ? redactSecrets(JSON.stringify(evidence, null, 2)) : undefined,
        }),
      )
    },
    onInterface({ binding, version, url: address, works }, findings) {
      if (!works || findings.some(({ severity }) => severity === 'error')) return
      add({ id: 'interface-works', outcome: 'ok', title: `${binding} ${version} works.`, detail: address })
    },
  }
  try {
    const { report } = await diagnose({
      url,
      fetch: calls.fetch,
      signal,
      observer,
      openGrpc: calls.openGrpc,
      inspectTls,
    })
    const sorted = { ...report, findings: bySeverity(report.findings) }
    return { report: JSON.parse(JSON.stringify(sorted)) as JsonObject, counts }
  } finally {
    calls.close()
  }
}

/**
 * Calls an agent at its own address, which is perhaps on this machine, and every other address only if it is public: a card
 * may name any URL.
 */
export async function createCalls(url: string) {
  const { createGuardedFetch } = await import('../core/node/guarded-fetch/guarded-fetch.ts')
  const own = new URL(url)
  const guard = {
    allow: [hostOf(own)],
    loopback: isThisMachine(own) ? ('allow' as const) : ('refuse' as const),
  }
  // A redirect could lead to another port of this machine.
  const fetches = [createGuardedFetch({ ...guard, redirects: 0 }), createGuardedFetch()] as const
  const isOwn = (address: string) => new URL(address).host === own.host
  const closes = fetches.map(({ close }) => close)
  return {
    fetch: ((address, init) => fetches[isOwn(address) ? 0 : 1](address, init)) as Fetch,
    async openGrpc() {
      const { grpc } = await import('../core/node/grpc-client.ts')
      const [ownGrpc, publicGrpc] = [grpc(guard), grpc({ loopback: 'refuse' })]
      closes.push(ownGrpc.close, publicGrpc.close)
      const fetch: Fetch = (address, init) => (isOwn(address) ? ownGrpc : publicGrpc).fetch(address, init)
      return { ...ownGrpc, fetch }
    },
    close() {
      for (const close of closes) close()
    },
  }
}
