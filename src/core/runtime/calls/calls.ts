import {
  type AgentCall,
  type AgentCalls,
  type CallAnswer,
  CallFailed,
  type CallOutcome,
  type CallSpec,
  type FanOutOptions,
} from '../../agent/call-agent.ts'
import { readContent } from '../../agent/content.ts'
import { checkOptions } from '../../base/options.ts'
import { lineageError } from '../../protocol/extensions/lineage.ts'
import type { Span } from '../../protocol/telemetry.ts'
import { runStep, type TurnScope } from '../turns/turn-scope.ts'
import { type CallPlan, callChecks, fanOutChecks, nameOfTarget } from './options.ts'
import { createProgress } from './progress.ts'
import { createQuestionQueue } from './questions.ts'
import { failureOf } from './results.ts'
import { CallExecution } from './run-call.ts'

export interface TurnCalls extends AgentCalls {
  /** The turn is over: calls that it did not await are canceled. */
  close(): void
}

/** Implements `turn.call()`, `turn.callAll()` and `turn.callFirst()`. */
export function createCalls(scope: TurnScope): TurnCalls {
  const { lineage, task, settings } = scope
  const { calls } = settings
  const { self, limits } = calls
  const questions = createQuestionQueue()
  const closing = new AbortController()
  const ancestor = { agent: self.agent, id: self.ids[0] ?? '', taskId: task.taskId }
  let callCount = 0
  let raceCount = 0
  const budget = createBudget(lineage.budget)

  function planCall([target, content, options = {}]: CallSpec, share?: number): CallPlan {
    checkOptions('turn.call()', options, callChecks)
    const targetName = nameOfTarget(target)
    const number = ++callCount
    const { name = `call ${number} ${targetName}` } = options
    const granted = budget ? budget.spend(options.budget ?? share) : options.budget
    return {
      name,
      target,
      targetName,
      content: readContent(content),
      options,
      lineage: {
        chain: [...lineage.chain, ancestor],
        ...(granted !== undefined && granted >= 0 && { budget: granted }),
      },
      ...(granted !== undefined && granted < 0 && { refusal: outOfBudget() }),
      ...(number > limits.maxCalls && { refusal: tooManyCalls(limits.maxCalls) }),
    }
  }

  function planAll(specs: readonly CallSpec[], { concurrency: _, ...shared }: FanOutOptions): readonly CallPlan[] {
    const share = budget?.shareOf(specs.length)
    return specs.map(([target, content, options]) => planCall([target, content, { ...shared, ...options }], share))
  }

  function start(plan: CallPlan): AgentCall {
    const { taskId, contextId } = task
    const activity = { type: 'call', agent: plan.targetName, taskId, contextId } as const
    const progress = createProgress()
    const allowed = limits.running < limits.maxRunning ? plan : { ...plan, refusal: tooManyRunning(limits.maxRunning) }
    const answer = (async () => {
      limits.running++
      try {
        const result = await scope.observe(activity, async (span) => {
          const execution = new CallExecution(allowed, { scope, questions, progress, turnOver: closing.signal, span })
          return await describeCall(plan, span, execution.run())
        })
        progress.end()
        return result
      } catch (error) {
        progress.end(error)
        throw error
      } finally {
        limits.running--
      }
    })()
    answer.catch(() => {}) // code that only iterates gets the failure there
    return Object.assign(answer, { [Symbol.asyncIterator]: progress.read })
  }

  function outcomeOf({ targetName }: CallPlan, answer: Promise<CallAnswer>): Promise<CallOutcome> {
    return answer.then(
      (value) => ({ ok: true, answer: value }),
      (error) => {
        if (scope.stop.signal.aborted) throw error
        const failure =
          error instanceof CallFailed ? error : new CallFailed(failureOf(error, targetName, scope.secrets))
        return { ok: false, error: failure }
      },
    )
  }

  /** Starts the calls in order, at most `concurrency` at a time. */
  async function fanOut(plans: readonly CallPlan[], options: FanOutOptions, onOutcome: OnOutcome): Promise<void> {
    const { concurrency = 4 } = options
    if (!(concurrency >= 1)) throw new TypeError(`concurrency: expected a number from 1 on, got ${concurrency}`)
    const queue = plans.entries()
    const work = async () => {
      for (const [index, plan] of queue) onOutcome(await outcomeOf(plan, start(plan)), index)
    }
    await Promise.all(Array.from({ length: Math.min(concurrency, plans.length) }, work))
  }

  return {
    call: (target, content, options) => start(planCall([target, content, options])),
    async callAll(specs, options = {}) {
      checkOptions('turn.callAll()', options, fanOutChecks)
      const outcomes: CallOutcome[] = []
      await fanOut(planAll(specs, options), options, (outcome, index) => {
        outcomes[index] = outcome
      })
      return outcomes
    },
    async callFirst(specs, options = {}) {
      checkOptions('turn.callFirst()', options, fanOutChecks)
      if (specs.length === 0) throw new TypeError('turn.callFirst(): expected at least one call, got an empty list')
      const step = `first ${++raceCount}`
      const won = new AbortController()
      const plans = planAll(specs, options).map((plan) => withSignal(plan, won.signal))
      const outcomes: CallOutcome[] = []
      const ended = specs.map(() => Promise.withResolvers<void>())
      const winner = new Promise<number>((resolve, reject) => {
        fanOut(plans, options, (outcome, index) => {
          outcomes[index] = outcome
          ended[index]?.resolve()
          if (outcome.ok) resolve(index)
        }).then(() => resolve(-1), reject)
      })
      winner.catch(() => {})
      // The winner is stored, so that a resumed turn gets the same answer.
      const index = await runStep(scope, step, () => winner)
      if (index < 0) throw allFailed(outcomes)
      await ended[index]?.promise
      won.abort('another call was faster')
      const first = outcomes[index]
      if (!first?.ok) throw allFailed(outcomes)
      return first.answer
    },
    close: () => closing.abort('the turn is over'),
  }
}

/** Adds what the trace of the calling task says about a call. */
async function describeCall(plan: CallPlan, span: Span | undefined, answer: Promise<CallAnswer>): Promise<CallAnswer> {
  if (span?.keepsContent) span.addDetails({ input: plan.content.parts })
  try {
    const result = await answer
    if (span?.keepsContent) span.addDetails({ output: result.text })
    if (result.type === 'task') span?.addDetails({ calledTask: result.task.id })
    return result
  } catch (error) {
    if (error instanceof CallFailed && error.taskId !== undefined) span?.addDetails({ calledTask: error.taskId })
    throw error
  }
}

/** How many calls a message may still lead to, in this agent and in those that it calls. */
interface Budget {
  /** Takes a call and the budget for the other agent's calls. Returns -1 if nothing is left. */
  spend(wanted: number | undefined): number
  /** The equal share of each of several calls. */
  shareOf(count: number): number | undefined
}

/** Undefined if the number of calls is unlimited. */
function createBudget(total: number | undefined): Budget | undefined {
  if (total === undefined) return undefined
  let left = total
  return {
    spend(wanted) {
      if (left < 1) return -1
      const granted = Math.min(left - 1, wanted ?? Math.floor((left - 1) / 2))
      left = left - 1 - granted
      return granted
    },
    shareOf: (count) => (count === 0 ? undefined : Math.max(0, Math.floor((left - count) / count))),
  }
}

type OnOutcome = (outcome: CallOutcome, index: number) => void

function outOfBudget(): Error {
  const advice = 'Answer with what you have instead of asking others.'
  return lineageError('out-of-budget', `No more calls may be made for this: its budget is used up. ${advice}`)
}

function tooManyCalls(maxCalls: number): Error {
  const advice = 'Answer with what you have instead of asking others.'
  return lineageError('out-of-budget', `One message may lead to at most ${maxCalls} calls. ${advice}`)
}

function tooManyRunning(maxRunning: number): Error {
  const reason = 'perhaps agents call each other in a circle. Answer with what you have, or try again later.'
  return lineageError('too-many', `${maxRunning} calls to other agents are in progress: ${reason}`)
}

function withSignal(plan: CallPlan, signal: AbortSignal): CallPlan {
  const { options } = plan
  const both = options.signal ? AbortSignal.any([options.signal, signal]) : signal
  return { ...plan, options: { ...options, signal: both } }
}

function allFailed(outcomes: readonly CallOutcome[]): CallFailed {
  const failures = outcomes.flatMap((outcome) => (outcome.ok ? [] : [outcome.error.message]))
  const agent = outcomes.map((outcome) => (outcome.ok ? outcome.answer.agent : outcome.error.agent)).join(', ')
  return new CallFailed({ agent, message: `No agent answered. ${failures.join(' ')}` })
}
