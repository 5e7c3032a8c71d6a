import { redactSecrets } from '../core/base/error-summary.ts'
import type { JsonObject } from '../core/base/json.ts'
import { type ConsoleAgents, ownUrlOf } from './agents.ts'
import type { CheckProgress, Finding } from './contract-tools.ts'
import { OperatorFailure } from './failures.ts'
import type { ForeignAgent } from './foreign.ts'
import { type Route, streamAnswer } from './routes.ts'

/** Runs a check of an agent at its URL, and calls back with each probe that begins and each finding. */
export type RunCheck = (options: {
  readonly url: string
  /** If another server serves the agent: it is called with the credentials of the connection. */
  readonly foreign: ForeignAgent | undefined
  readonly signal: AbortSignal
  readonly onFinding: (finding: Finding) => void
  readonly onProbe: (probe: Omit<Extract<CheckProgress, { type: 'probe' }>, 'type'>) => void
}) => Promise<{ readonly report: JsonObject; readonly counts: Readonly<Record<string, number>> }>

/** The checks that a server can run. Their code is loaded when they run. */
export interface AgentChecks {
  readonly doctor?: RunCheck | undefined
  readonly conformance?: RunCheck | undefined
}

export interface CheckRoutesOptions {
  readonly agents: ConsoleAgents
  readonly checks: AgentChecks
  /** The URL at which the server listens. Undefined before it does. */
  readonly address?: (() => string | undefined) | undefined
}

/** Checks of agents with live progress: they send real requests to the address of the agent. */
export function checkRoutes({ agents, checks, address }: CheckRoutesOptions): readonly Route[] {
  return (['doctor', 'conformance'] as const).map((name) => ({
    method: 'POST',
    path: `/agents/:agent/${name}`,
    role: 'operator',
    async handle(call, id: string) {
      const [check, listening] = [checks[name], address?.()]
      if (!check || listening === undefined)
        throw new OperatorFailure(501, 'not-available', 'This server cannot run this check.')
      const found = agents.get(id)
      const { foreign } = found.agent
      const url = foreign?.url ?? ownUrlOf(found, listening)
      const checking: Check = (options) => check({ ...options, url, foreign })
      return streamAnswer(call, run(checking, call.incoming.signal))
    },
  }))
}

type Check = (options: Omit<Parameters<RunCheck>[0], 'url' | 'foreign'>) => ReturnType<RunCheck>

async function* run(check: Check, signal: AbortSignal): AsyncGenerator<{ value: CheckProgress }> {
  const progress: CheckProgress[] = []
  let wake = () => {}
  let isOver = false
  const add = (value: CheckProgress) => {
    progress.push(value)
    wake()
  }
  let done = 0
  const running = check({
    signal,
    onProbe: (probe) => add({ type: 'probe', ...probe }),
    onFinding: (finding) => add({ type: 'finding', done: ++done, finding }),
  }).then(
    (result) => add({ type: 'done', ...result }),
    (error) =>
      add({ type: 'failed', message: redactSecrets(error instanceof Error ? error.message : 'The check failed.') }),
  )
  void running.then(() => {
    isOver = true
    wake()
  })
  yield { value: { type: 'started' } }
  for (;;) {
    const value = progress.shift()
    if (value) yield { value }
    else if (isOver) return
    else {
      await new Promise<void>((resolve) => {
        wake = resolve
      })
    }
  }
}
