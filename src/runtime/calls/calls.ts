import {
  type AgentCall,
  type AgentCalls,
  type CallAnswer,
  CallFailed,
  type CallOutcome,
  type CallSpec,
  type FanOutOptions,
} from '../../agent/call-agent.ts'
import { toParts } from '../../agent/turn-output.ts'
import { lineageError } from '../../protocol/extensions/lineage.ts'
import { observe } from '../../protocol/telemetry.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { type CallPlan, nameOfTarget } from './options.ts'
import { createProgress } from './progress.ts'
import { createQuestionQueue } from './questions.ts'
import { failureOf } from './results.ts'
import { runCall } from './run-call.ts'

export interface TurnCalls extends AgentCalls {
  /** The turn is over: what it has not waited for is given up. */
  close(): void
}

export function createCalls(scope: TurnScope): TurnCalls {
  const { telemetry, calls } = scope.settings
  const { self } = calls
  const { lineage, task } = scope
  const questions = createQuestionQueue()
  const over = new AbortController()
  const own = { agent: self.agent, id: self.ids[0] ?? '', taskId: task.taskId }
  let begun = 0
  let races = 0
  let left = lineage.budget

  function planOf([target, message, options = {}]: CallSpec, share?: number): CallPlan {
    const targetName = nameOfTarget(target)
    const number = ++begun
    const { name = `call ${number} ${targetName}` } = options
    const granted = left === undefined ? options.budget : spend(options.budget ?? share)
    return {
      name,
      target,
      targetName,
      parts: toParts(message),
      options,
      lineage: { chain: [...lineage.chain, own], ...(granted !== undefined && granted >= 0 && { budget: granted }) },
      ...(granted !== undefined && granted < 0 && { refusal: outOfBudget() }),
    }
  }

  /** Pays for a call, and for those that the other agent may make; -1 if there is nothing left to pay with. */
  function spend(wanted: number | undefined): number {
    const before = left ?? 0
    if (before < 1) return -1
    const granted = Math.min(before - 1, wanted ?? Math.floor((before - 1) / 2))
    left = before - 1 - granted
    return granted
  }

  function activityOf({ targetName }: CallPlan) {
    return { type: 'call', agent: targetName, taskId: task.taskId, contextId: task.contextId } as const
  }

  function start(plan: CallPlan): AgentCall {
    const progress = createProgress()
    const answer = (async () => {
      try {
        const given = await observe(telemetry, activityOf(plan), scope.trace, (span) =>
          runCall(plan, { scope, questions, progress, over: over.signal, span }),
        )
        progress.end()
        return given
      } catch (error) {
        progress.end(error)
        throw error
      }
    })()
    // Who only iterates hears of a failure there.
    answer.catch(() => {})
    return Object.assign(answer, { [Symbol.asyncIterator]: progress.read })
  }

  /** Each gets the same share of the budget. */
  function shareOf(count: number): number | undefined {
    return left === undefined || count === 0 ? undefined : Math.max(0, Math.floor((left - count) / count))
  }

  function settledOf(plan: CallPlan, answer: Promise<CallAnswer>): Promise<CallOutcome> {
    return answer.then(
      (given) => ({ ok: true, answer: given }),
      (error) => {
        if (scope.stop.signal.aborted) throw error
        const { targetName } = plan
        return {
          ok: false,
          error: error instanceof CallFailed ? error : new CallFailed(failureOf(error, targetName, scope.secrets)),
        }
      },
    )
  }

  /** In the order of the calls, so many at once. */
  async function fanOut(plans: readonly CallPlan[], { concurrency = 4 }: FanOutOptions, onEach: OnEach): Promise<void> {
    if (!(concurrency >= 1)) throw new TypeError(`concurrency: expected a number from 1 on, got ${concurrency}`)
    const queue = plans.entries()
    const worker = async () => {
      for (const [at, plan] of queue) onEach(await settledOf(plan, start(plan)), at)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, plans.length) }, worker))
  }

  return {
    call: (target, message, options) => start(planOf([target, message, options])),
    async callAll(calls, options = {}) {
      const share = shareOf(calls.length)
      const plans = calls.map((each) => planOf(each, share))
      const all: CallOutcome[] = []
      await fanOut(plans, options, (settled, at) => {
        all[at] = settled
      })
      return all
    },
    async callFirst(calls, options = {}) {
      if (calls.length === 0) throw new TypeError('turn.callFirst(): expected somebody to ask, got an empty list')
      const share = shareOf(calls.length)
      const race = `first ${++races}`
      const won = new AbortController()
      const plans = calls.map((each) => withSignal(planOf(each, share), won.signal))
      const settled: CallOutcome[] = []
      const waiters = calls.map(() => Promise.withResolvers<void>())
      const winner = new Promise<number>((resolve, reject) => {
        fanOut(plans, options, (each, at) => {
          settled[at] = each
          waiters[at]?.resolve()
          if (each.ok) resolve(at)
        }).then(() => resolve(-1), reject)
      })
      winner.catch(() => {})
      // Which one was the first is stored: a turn that is resumed has the same answer.
      const at = await runStep(scope, race, () => winner)
      if (at < 0) throw allFailed(settled)
      await waiters[at]?.promise
      won.abort('somebody else was faster')
      const first = settled[at]
      if (!first?.ok) throw allFailed(settled)
      return first.answer
    },
    close: () => over.abort('the turn is over'),
  }
}

function outOfBudget(): Error {
  const advice = 'Answer with what you have instead of asking others.'
  return lineageError('out-of-budget', `No more calls may be made for this: its budget is used up. ${advice}`)
}

type OnEach = (settled: CallOutcome, at: number) => void

function withSignal(plan: CallPlan, signal: AbortSignal): CallPlan {
  const { options } = plan
  const both = options.signal ? AbortSignal.any([options.signal, signal]) : signal
  return { ...plan, options: { ...options, signal: both } }
}

function allFailed(settled: readonly CallOutcome[]): CallFailed {
  const failures = settled.flatMap((each) => (each.ok ? [] : [each.error.message]))
  const agent = settled.map((each) => (each.ok ? each.answer.agent : each.error.agent)).join(', ')
  return new CallFailed({ agent, message: `Nobody answered. ${failures.join(' ')}` })
}
