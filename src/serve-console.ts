import { redactSecrets } from './base/error-summary.ts'
import type { JsonObject } from './base/json.ts'
import type { Logger } from './base/logger.ts'
import { packageVersion } from './base/package-version.ts'
import type { Exchange, Incoming, Outgoing } from './http/exchange.ts'
import { loggedError } from './protocol/errors.ts'
import type { ServeOptions } from './serve-options.ts'
import type { ConsoleRecorder } from './serve-records.ts'
import type { Host, HostPages } from './server/host.ts'
import type { RunCheck } from './server/operator/checks.ts'
import type { Finding, MeshState } from './server/operator/contract-tools.ts'
import { type ConsoleOptions, consolePath } from './server/operator/options.ts'

const rollUpInterval = 60_000

export interface ServedConsoleOptions {
  readonly options: ServeOptions
  readonly console: ConsoleOptions
  readonly mounted: Host['mounted']
  readonly logger: Logger
  readonly recorder: ConsoleRecorder
  /** If the server is a mesh peer. Undefined until the peer is ready. */
  readonly mesh?: (() => MeshState | undefined) | undefined
}

/** The console as pages of a host. Its code is loaded by its first request. */
export function createConsolePages(settings: ServedConsoleOptions): HostPages {
  const { options, console, mounted, logger, recorder, mesh } = settings
  const started = Date.now()
  let loaded: Promise<Exchange> | undefined

  async function load(): Promise<Exchange> {
    const [{ createConsole }, { createConsoleFiles }] = await Promise.all([
      import('./server/operator/console.ts'),
      import('./node/console-files.ts'),
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
    const { rollUpMinutes } = await import('./tasks/operator-minutes.ts')
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
  const { conformance } = await import('./conformance/conformance.ts')
  const report = await conformance(url, {
    signal,
    onCheck({ rule, version, binding, level, title, outcome, problem, expects, evidence }) {
      onFinding({
        ...{ id: `${rule} ${version} ${binding}`, level, title },
        outcome: outcome === 'not measured' ? 'not-measured' : outcome,
        ...(problem !== undefined && { detail: problem, remedy: expects }),
        ...(evidence && { evidence: redactSecrets(`${evidence.request}\n\n${evidence.answer}`) }),
      })
    },
  })
  const count = (outcome: string) => report.checks.filter((check) => check.outcome === outcome).length
  const counts = { passed: count('passed'), failed: count('failed'), 'not-measured': count('not measured') }
  return { report: report.toJSON(), counts }
}

/** Diagnoses an agent as `parley doctor` does, whose code is loaded when it runs. */
const runDoctor: RunCheck = async ({ url, signal, onProbe, onFinding }) => {
  const { runDoctor: diagnose } = await import('./cli/doctor/run-doctor.ts')
  const counts: Record<string, number> = { error: 0, warning: 0, info: 0, ok: 0 }
  const add = (finding: Finding) => {
    counts[finding.outcome] = (counts[finding.outcome] ?? 0) + 1
    onFinding(finding)
  }
  const report = await diagnose(url, signal, {
    onProbe,
    onFinding({ id, severity, subject, problem, fix, evidence }) {
      add({
        ...{ id, outcome: severity, title: problem, detail: subject },
        ...(fix !== undefined && { remedy: fix }),
        ...(evidence.length > 0 && { evidence: redactSecrets(JSON.stringify(evidence, null, 2)) }),
      })
    },
    onInterface({ binding, version, url: address, works }, findings) {
      if (!works || findings.some(({ severity }) => severity === 'error')) return
      add({ id: 'interface-works', outcome: 'ok', title: `${binding} ${version} works.`, detail: address })
    },
  })
  return { report: JSON.parse(JSON.stringify(report)) as JsonObject, counts }
}
