import { unlessAborted, withDeadline, withTimeout } from '../core/base/abort.ts'
import { closest } from '../core/base/closest.ts'
import { defined, isList, isObject, type Json } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import { anyOf, group, isAbove, listOf, milliseconds, type OptionCheck, oneOf, text } from '../core/base/options.ts'
import type { LimitStore } from '../core/limits/limit-store.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import { requestedSkill } from '../core/protocol/extensions/typed-skills.ts'
import type { Interceptor, UnaryNext } from '../core/protocol/intercept.ts'
import { ownerOf, type Principal } from '../core/protocol/model.ts'
import {
  type Call,
  type Operation,
  type RequestOf,
  type ResultOf,
  type SendRequest,
  type UnaryOperation,
  withCall,
} from '../core/protocol/service.ts'

/** The operations by the names that rules use. */
export const operationNames: readonly Operation[] = [
  ...(['sendMessage', 'streamMessage', 'getTask', 'listTasks', 'cancelTask', 'subscribeToTask'] as const),
  ...(['createPushConfig', 'getPushConfig', 'listPushConfigs', 'deletePushConfig', 'getExtendedCard'] as const),
]

/**
 * A rule of a gateway. A call matches if every condition of the rule holds; a condition with several values holds for
 * any of them. `*` in a principal, group, tenant or agent stands for any characters.
 */
export interface Rule {
  /** The name of the rule in logs. Defaults to its number. */
  readonly name?: string
  readonly principal?: string | readonly string[]
  /** A member of the claim `groups` or `roles`, or a scope. */
  readonly group?: string | readonly string[]
  readonly tenant?: string | readonly string[]
  readonly agent?: string | readonly string[]
  /** Matches only messages that name this skill. Messages that name none are refused if a rule about skills could apply. */
  readonly skill?: string | readonly string[]
  readonly operation?: Operation | readonly Operation[]
  /** Defaults to `allow`. */
  readonly effect?: 'allow' | 'deny'
  /** How many calls of the rule each principal may make in a time, such as `{ limit: 100, per: 60_000 }`. */
  readonly rate?: RuleRate
  /** How many calls of each principal may be open at once. A stream is open until it ends. */
  readonly concurrency?: number
  /** Maximum size of a message in bytes of JSON. */
  readonly bodySize?: number
  /** Maximum duration of a call in milliseconds. */
  readonly duration?: number
}

/** A rate of calls. */
export interface RuleRate {
  readonly limit: number
  /** Milliseconds. */
  readonly per: number
}

const names: OptionCheck = anyOf('a name, or a list of names', text, listOf(text))

const operationCheck: OptionCheck = (value, name) => {
  const list = isList(value) ? value : [value]
  for (const each of list) oneOf(...operationNames)(each, name)
}

export const rulesCheck: OptionCheck = listOf(
  group<Rule>({
    name: text,
    principal: names,
    group: names,
    tenant: names,
    agent: names,
    skill: names,
    operation: operationCheck,
    effect: oneOf('allow', 'deny'),
    rate: group<RuleRate>({ limit: isAbove(0), per: isAbove(0) }),
    concurrency: isAbove(0),
    bodySize: isAbove(0),
    duration: milliseconds({ min: 1, infinite: false }),
  }),
)

/** A call as rules see it. */
export interface RuledCall {
  readonly principal: Principal
  readonly agent: string
  readonly operation: Operation
  /** The skill that a message names. */
  readonly skill?: string | undefined
}

/** What the rules say about a call. */
export interface Decision {
  readonly isAllowed: boolean
  /** The rule that decided; undefined if none matched. */
  readonly rule: Rule | undefined
  /** The name of the rule, `default` if none matched, and `none` without rules. */
  readonly name: string
}

export interface Rules {
  decide(call: RuledCall): Decision
}

/** The first rule that matches decides. Where rules exist, calls that none matches are denied. */
export function createRules(rules: readonly Rule[] | undefined): Rules {
  const compiled = (rules ?? []).map((rule, index) => ({ rule, name: rule.name ?? `rule ${index + 1}` }))
  return {
    decide(call) {
      if (!rules) return { isAllowed: true, rule: undefined, name: 'none' }
      for (const { rule, name } of compiled) {
        if (!matches(rule, call)) continue
        if (rule.skill === undefined) return { isAllowed: rule.effect !== 'deny', rule, name }
        if (call.skill === undefined && isMessage(call.operation)) return { isAllowed: false, rule, name }
        if (call.skill !== undefined && isAmong(rule.skill, call.skill)) {
          return { isAllowed: rule.effect !== 'deny', rule, name }
        }
      }
      return { isAllowed: false, rule: undefined, name: 'default' }
    },
  }
}

/** Warns of rules that name an agent that does not exist. Returns the texts. */
export function unknownAgents(rules: readonly Rule[] | undefined, agents: readonly string[]): readonly string[] {
  return (rules ?? []).flatMap(({ agent, name }, index) =>
    listOfNames(agent)
      .filter((each) => !each.includes('*') && !agents.includes(each))
      .map((each) => {
        const near = closest(each, [...agents])
        return `rules[${index}]${name ? ` (${name})` : ''}: there is no agent ${each}.${near ? ` Did you mean ${near}?` : ''}`
      }),
  )
}

export interface RuleInterceptorOptions {
  readonly agent: string
  /** Read for every call: rules may be reloaded. */
  readonly rules: () => Rules
  readonly limits: LimitStore
  readonly logger: Logger
  readonly onCall: (call: LoggedCall) => void
}

/** A finished call, for the access log and the console. */
export interface LoggedCall {
  readonly agent: string
  readonly operation: Operation
  readonly principal: string
  readonly rule: string
  /** The code of the error; undefined if the call succeeded. */
  readonly code: string | undefined
  readonly duration: number
  /** Whether the rule refused the call, or a limit of it did. */
  readonly isRefused: boolean
  /** The version of the caller, for messages. */
  readonly dialect: string | undefined
}

/** Decides about every call, limits it, and writes the access log. */
export function applyRules({ agent, rules, limits, logger, onCall }: RuleInterceptorOptions): Interceptor {
  function decide(operation: Operation, request: object, { principal }: Call): Decision {
    const skill = 'message' in request ? requestedSkill(request as SendRequest) : undefined
    return rules().decide({ principal, agent, operation, skill })
  }

  /** Takes what the rule limits. Returns how to release it. */
  async function admit(decision: Decision, operation: Operation, request: object, { principal }: Call) {
    const { rule, name, isAllowed } = decision
    if (!isAllowed) {
      const text = `The rules of this gateway do not allow ${operation} on ${agent}.`
      throw new A2AError('forbidden', text, { metadata: { reason: 'gateway-rule' } })
    }
    if (!rule) return undefined
    const key = `${name} ${ownerOf(principal)}`
    if (rule.bodySize !== undefined && 'message' in request) requireSize(request, rule.bodySize)
    if (rule.rate) {
      const { isAllowed: isFree, retryAfter } = await limits.take(`rate ${key}`, {
        limit: rule.rate.limit,
        window: rule.rate.per / 1_000,
      })
      if (!isFree) throw limited(`at most ${rule.rate.limit} calls in ${rule.rate.per} ms`, retryAfter)
    }
    if (rule.concurrency === undefined) return undefined
    const release = await limits.hold(`open ${key}`, rule.concurrency)
    if (!release) throw limited(`at most ${rule.concurrency} open calls`, 1)
    return release
  }

  /** Measures a call, and logs it at its end. */
  function observe(operation: Operation, request: object, { principal }: Call, { name: rule }: Decision) {
    const start = performance.now()
    let isRefused = true
    return {
      admitted() {
        isRefused = false
      },
      end(error?: unknown): void {
        const code = error === undefined ? undefined : error instanceof A2AError ? error.code : 'internal'
        const duration = Math.round(performance.now() - start)
        const line = { agent, operation, principal: ownerOf(principal), rule, code, duration }
        const dialect = 'message' in request ? (request as SendRequest).dialect : undefined
        onCall({ ...line, isRefused, dialect })
        logger.info(defined(line), 'gateway call')
      },
    }
  }

  return {
    async unary<O extends UnaryOperation>(
      operation: O,
      request: RequestOf<O>,
      call: Call,
      next: UnaryNext<O>,
    ): Promise<ResultOf<O>> {
      const decision = decide(operation, request, call)
      const observed = observe(operation, request, call, decision)
      let release: (() => void) | undefined
      try {
        release = await admit(decision, operation, request, call)
        observed.admitted()
        const work = next(request, call)
        const result = await (decision.rule?.duration
          ? withTimeout(work, decision.rule.duration, () => tooLong(decision.rule?.duration ?? 0))
          : work)
        observed.end()
        return result
      } catch (error) {
        observed.end(error)
        throw error
      } finally {
        release?.()
      }
    },
    async *stream(operation, request, call, next) {
      const decision = decide(operation, request, call)
      const observed = observe(operation, request, call, decision)
      let release: (() => void) | undefined
      let failure: unknown
      try {
        release = await admit(decision, operation, request, call)
        observed.admitted()
        const { duration } = decision.rule ?? {}
        yield* duration === undefined
          ? next(request, call)
          : streamWithin(duration, call, (each) => next(request, each))
      } catch (error) {
        failure = error
        throw error
      } finally {
        release?.()
        observed.end(failure)
      }
    },
  }
}

function matches({ principal, group: groups, tenant, agent, operation }: Rule, call: RuledCall): boolean {
  return (
    isAmong(agent, call.agent) &&
    (operation === undefined || listOfNames(operation).includes(call.operation)) &&
    isAmong(principal, call.principal.id) &&
    (tenant === undefined || isAmong(tenant, call.principal.tenant ?? '')) &&
    (groups === undefined || groupsOf(call.principal).some((each) => isAmong(groups, each)))
  )
}

function isMessage(operation: Operation): boolean {
  return operation === 'sendMessage' || operation === 'streamMessage'
}

function listOfNames(value: string | readonly string[] | undefined): readonly string[] {
  return value === undefined ? [] : typeof value === 'string' ? [value] : value
}

/** An absent condition holds for every value. */
export function isAmong(condition: string | readonly string[] | undefined, value: string): boolean {
  return condition === undefined || listOfNames(condition).some((pattern) => isLike(pattern, value))
}

/** Compares with a pattern in linear time: principals are chosen by others. */
function isLike(pattern: string, value: string): boolean {
  const [first = '', ...rest] = pattern.split('*')
  if (rest.length === 0) return pattern === value
  if (!value.startsWith(first)) return false
  const last = rest.pop() ?? ''
  let at = first.length
  for (const part of rest) {
    const found = value.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return value.length - last.length >= at && value.endsWith(last)
}

function groupsOf({ scopes = [], claims = {} }: Principal): readonly string[] {
  const texts = (claim: Json | undefined) => (isList(claim) ? claim.filter((each) => typeof each === 'string') : [])
  return [...texts(claims.groups), ...texts(claims.roles), ...scopes]
}

function requireSize(request: object, limit: number): void {
  const { message, metadata } = request as SendRequest
  const size = new TextEncoder().encode(JSON.stringify(isObject(metadata) ? [message, metadata] : message)).byteLength
  if (size <= limit) return
  throw new A2AError(
    'payload-too-large',
    `A rule of this gateway allows messages of at most ${limit} bytes, not ${size}.`,
  )
}

function limited(text: string, retryAfter: number): A2AError {
  const problem = `A rule of this gateway allows each caller ${text}: try again later.`
  return new A2AError('rate-limited', problem, {
    retryAfter: Math.max(retryAfter, 0.001),
    metadata: { policy: 'rule' },
  })
}

function tooLong(duration: number): A2AError {
  return new A2AError('timeout', `A rule of this gateway allows calls of at most ${duration} ms.`)
}

/** A stream that ends with an error when its time is up, also while the agent sends nothing. */
async function* streamWithin(
  duration: number,
  call: Call,
  open: (call: Call) => AsyncGenerator<StreamEvent>,
): AsyncGenerator<StreamEvent> {
  const { signal, release } = withDeadline(call.signal, duration, () => tooLong(duration))
  const events = open(withCall(call, { signal }))
  try {
    for (;;) {
      const { done, value } = await unlessAborted(events.next(), signal)
      if (done) return
      yield value
    }
  } finally {
    release()
    void events.return(undefined).catch(() => {})
  }
}
