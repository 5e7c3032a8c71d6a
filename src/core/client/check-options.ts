import type { Backoff } from '../base/backoff.ts'
import { isObject } from '../base/json.ts'
import {
  aFunction,
  anObject,
  anything,
  checkOptions,
  clockCheck,
  flag,
  group,
  having,
  integer,
  isAbove,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  text,
  valueThat,
} from '../base/options.ts'
import { dialectNames, withGrpcDialects } from '../dialects/versions.ts'
import type { Client } from './client.ts'
import type { Conversation, ConversationStart } from './conversation.ts'
import type { CallOptions, ConnectOptions, TaskFilter } from './options.ts'
import type { PollOptions } from './resilience/poll.ts'
import type { SendOptions } from './send-request.ts'
import type { TaskHandle } from './task-handle.ts'

/** Throws a `TypeError` if an option of `connect` is unknown or wrong. `caller` is the function that takes the options. */
export function checkConnectOptions(options: ConnectOptions, caller = 'connect'): void {
  checkOptions(caller, options, optionChecks)
}

/** A client whose methods throw a `TypeError` if an option of a call is unknown or wrong. */
export function withOptionChecks(client: Client): Client {
  return checking(client, 'client', {
    send: { takes: [undefined, sendChecks] },
    stream: { takes: [undefined, sendChecks], isSync: true },
    skill: { takes: [undefined, undefined, sendChecks] },
    listTasks: { takes: [filterChecks, callChecks], isSync: true },
    extendedCard: { takes: [callChecks] },
    task: { wrap: checkTaskOptions },
    conversation: { takes: [startChecks], isSync: true, wrap: checkConversationOptions },
    explain: {},
  })
}

function checkTaskOptions(task: TaskHandle): TaskHandle {
  const handle = checking(task, 'client.task', {
    get: { takes: [{ ...callChecks, historyLength: anything }] },
    wait: { takes: [callChecks] },
    subscribe: { takes: [callChecks], isSync: true },
    cancel: { takes: [callChecks] },
    artifacts: { takes: [callChecks] },
  })
  const push = checking(task.push, 'client.task.push', {
    create: { takes: [undefined, callChecks] },
    get: { takes: [undefined, callChecks] },
    list: { takes: [callChecks], isSync: true },
    delete: { takes: [undefined, callChecks] },
  })
  return { ...handle, push }
}

function checkConversationOptions(conversation: Conversation): Conversation {
  return checking(conversation, 'conversation', {
    send: { takes: [undefined, sendChecks] },
    stream: { takes: [undefined, sendChecks], isSync: true },
  })
}

type Method = (...values: never[]) => unknown

type ParameterChecks<P> = OptionChecks<NonNullable<P>> | undefined

/** How the options of a method are checked. */
interface MethodChecks<M> {
  /** The checks of its parameters, in their order. Undefined for those that are no options. */
  readonly takes?: M extends (...values: infer P) => unknown
    ? { readonly [I in keyof P]: ParameterChecks<P[I]> }
    : never
  /** Whether the method throws its errors. Otherwise it returns a promise, which is rejected. */
  readonly isSync?: boolean
  /** Checks the options of what the method returns. */
  readonly wrap?: M extends (...values: never[]) => infer Result ? (result: Result) => Result : never
}

/** The same object with checks before its methods. A new method does not compile until it has its checks. */
function checking<T extends object>(
  target: T,
  caller: string,
  methods: { readonly [K in keyof T as T[K] extends Method ? K : never]: MethodChecks<T[K]> },
): T {
  const members = Object.getOwnPropertyDescriptors<object>(target) as PropertyDescriptorMap
  for (const [name, { takes = [], isSync, wrap }] of Object.entries(methods as Record<string, MethodChecks<Method>>)) {
    const method = target[name as keyof T] as (...values: readonly unknown[]) => unknown
    const value = (...values: readonly unknown[]) => {
      try {
        for (const [index, checks] of takes.entries()) {
          if (checks && values[index] !== undefined)
            checkOptions(`${caller}.${name}`, values[index] as object, checks as never)
        }
      } catch (error) {
        if (isSync) throw error
        return Promise.reject(error)
      }
      const result = method(...values)
      return wrap ? wrap(result as never) : result
    }
    members[name] = { value, enumerable: true, writable: true, configurable: true }
  }
  return Object.defineProperties({}, members) as T
}

/** The dialects that the caller means over gRPC. Over REST a version may have two forms, so the caller's choice stands. */
export function dialectsOf({ dialects, bindings = [] }: ConnectOptions): ConnectOptions['dialects'] {
  const hasGrpc = bindings.some((binding) => typeof binding === 'object' && binding.binding === 'GRPC')
  return dialects && hasGrpc && !bindings.includes('HTTP+JSON') ? withGrpcDialects(dialects) : dialects
}

const aboveZero = isAbove(0)
const timeSpan = milliseconds({ min: 1 })
const delays = { minDelay: milliseconds(), maxDelay: milliseconds() }
const backoff = group<Backoff>({ ...delays, tries: aboveZero })

const signal = having('an AbortSignal', 'aborted')
const texts = listOf(text)

const callChecks: OptionChecks<CallOptions> = { signal, timeout: timeSpan, headers: anObject }

/** The agent checks ids and numbers. */
const startChecks: OptionChecks<ConversationStart> = { contextId: anything, taskId: anything }

const sendChecks: OptionChecks<SendOptions> = {
  ...callChecks,
  ...startChecks,
  referenceTaskIds: texts,
  metadata: anObject,
  messageMetadata: anObject,
  extensions: texts,
  skill: text,
  acceptedOutputModes: texts,
  historyLength: anything,
  push: anObject,
  returnImmediately: flag,
  ifGeneration: anything,
  messageId: anything,
  idempotencyKey: anything,
}

const filterChecks: OptionChecks<TaskFilter> = {
  contextId: anything,
  state: anything,
  statusSince: anything,
  pageSize: anything,
  historyLength: anything,
  includeArtifacts: flag,
  includeRevisions: flag,
  metadata: anObject,
}

const optionChecks: OptionChecks<ConnectOptions> = {
  fetch: aFunction,
  auth: listOf(anObject),
  authorize: aFunction,
  onNotice: aFunction,
  timeout: timeSpan,
  retry: backoff,
  resume: backoff,
  polling: group<PollOptions>(delays),
  peerDeduplicates: flag,
  dialects: listOf(oneOf(...dialectNames)),
  bindings: listOf(
    valueThat("'JSONRPC', 'HTTP+JSON' or a transport such as grpc()", (value) =>
      isObject(value) ? 'open' in value : value === 'JSONRPC' || value === 'HTTP+JSON',
    ),
  ),
  extensions: texts,
  fileBytes: oneOf('raw', 'base64'),
  cardCache: having('a cache such as createCardCache()', 'get', 'set'),
  verifyCard: aFunction,
  watch: aFunction,
  signal,
  answerLimit: aboveZero,
  eventLimit: aboveZero,
  jsonDepth: integer({ min: 1 }),
  idle: timeSpan,
  openWithin: timeSpan,
  clock: clockCheck,
}
