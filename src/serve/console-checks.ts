import type { DoctorObserver } from '../conformance/doctor/report.ts'
import { redactSecrets } from '../core/base/error-summary.ts'
import { defined, type JsonObject } from '../core/base/json.ts'
import { hostOf, isThisMachine } from '../core/http/address-guard.ts'
import type { Fetch } from '../core/http/fetch.ts'
import type { RunCheck } from '../operator/checks.ts'
import type { Finding } from '../operator/contract-tools.ts'
import type { ForeignAgent } from '../operator/foreign.ts'

/** Judges an agent by the conformance suite, which is loaded when it runs. */
export const runConformance: RunCheck = async ({ url, foreign, signal, onFinding }) => {
  const [{ conformance }, calls] = await Promise.all([import('../conformance/conformance.ts'), callsOf(url, foreign)])
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

/** Diagnoses an agent as `parley doctor` does. The code is loaded when it runs. */
export const runDoctor: RunCheck = async ({ url, foreign, signal, onProbe, onFinding }) => {
  const [{ diagnose }, { bySeverity }, { inspectTls }, calls] = await Promise.all([
    import('../conformance/doctor/diagnose.ts'),
    import('../conformance/doctor/report.ts'),
    import('../core/node/tls-session.ts'),
    callsOf(url, foreign),
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
      ...defined({ openGrpc: calls.openGrpc }),
      inspectTls,
    })
    const sorted = { ...report, findings: bySeverity(report.findings) }
    return { report: JSON.parse(JSON.stringify(sorted)) as JsonObject, counts }
  } finally {
    calls.close()
  }
}

/** The calls of a check: to an agent of another server with the credentials of the operator, to others with none. */
async function callsOf(url: string, foreign: ForeignAgent | undefined): Promise<Calls> {
  return foreign ? { fetch: foreign.fetchAs('check'), close: () => {} } : await createCalls(url)
}

interface Calls extends Partial<Omit<Awaited<ReturnType<typeof createCalls>>, 'fetch' | 'close'>> {
  readonly fetch: Fetch
  close(): void
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
