import { isList, isObject } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import type { Interceptor, UnaryNext } from '../core/protocol/intercept.ts'
import type { Artifact, Message, Task } from '../core/protocol/model.ts'
import type { Call, RequestOf, ResultOf, SendRequest, UnaryOperation } from '../core/protocol/service.ts'
import type { Traffic } from './traffic.ts'

/** Something that a version could not express, and how often. */
export interface Loss {
  /** The member that was lost, such as `message.extensions`. */
  readonly member: string
  /** Whether it was lost on the way to the agent or to the caller. */
  readonly towards: 'agent' | 'caller'
  /** The dialect that lacks the member. */
  readonly dialect: string
  readonly count: number
}

/** Counts what translations lose for one agent. Every kind of loss is logged once. */
export interface Losses {
  list(): readonly Loss[]
  /** What of a request the dialect of the agent lacks. */
  toAgent(dialectOf: () => string | undefined, request: object): void
  /** Counts what the dialect of callers lacks in answers and events. */
  readonly interceptor: Interceptor
}

/** Dialects that lack members of messages and artifacts. `docs/reference/dialects.md` has the whole table. */
const lossyDialects: ReadonlySet<string | undefined> = new Set(['v0.1'])

export function createLosses(agent: string, logger: Logger, onLoss: Traffic['onLoss']): Losses {
  const counts = new Map<string, Loss>()

  function count(members: readonly string[], towards: Loss['towards'], dialect: string): void {
    for (const member of members) {
      onLoss(member, towards, dialect)
      const key = `${member} ${towards} ${dialect}`
      const known = counts.get(key)
      counts.set(key, { member, towards, dialect, count: (known?.count ?? 0) + 1 })
      if (!known) logger.warn({ agent, member, towards, dialect }, 'a translation loses a member')
    }
  }

  const toCaller = (dialect: string, value: unknown) => count(lostOfResult(value), 'caller', dialect)

  return {
    list: () => [...counts.values()],
    toAgent(dialectOf, request) {
      const members = lostOfRequest(request)
      const dialect = members.length > 0 ? dialectOf() : undefined
      if (dialect !== undefined && lossyDialects.has(dialect)) count(members, 'agent', dialect)
    },
    interceptor: {
      async unary<O extends UnaryOperation>(_operation: O, request: RequestOf<O>, call: Call, next: UnaryNext<O>) {
        const result: ResultOf<O> = await next(request, call)
        const { dialect } = call
        if (dialect !== undefined && lossyDialects.has(dialect)) toCaller(dialect, result)
        return result
      },
      stream(_operation, request, call, next) {
        const events = next(request, call)
        const { dialect } = call
        return dialect !== undefined && lossyDialects.has(dialect)
          ? observe(events, (event) => toCaller(dialect, event))
          : events
      },
    },
  }
}

async function* observe(events: AsyncGenerator<StreamEvent>, onEvent: (event: StreamEvent) => void) {
  for await (const event of events) {
    onEvent(event)
    yield event
  }
}

/** What a request to an agent has that the dialect lacks. */
function lostOfRequest(request: object): readonly string[] {
  if ('url' in request) return 'id' in request && request.id !== undefined ? ['pushConfig.id'] : []
  if (!('message' in request)) return []
  const { message, configuration } = request as SendRequest
  return [...lostOfMessage(message), ...(configuration?.returnImmediately ? ['configuration.returnImmediately'] : [])]
}

/** What an event or the result of an operation has that the dialect lacks. */
function lostOfResult(value: unknown): readonly string[] {
  if (!isObject(value)) return []
  const { type, message, task, artifact, status, tasks } = value as unknown as Partial<ResultMembers>
  if (isList(tasks)) return tasks.flatMap(lostOfTask)
  if (type === 'message') return lostOfMessage(message)
  if (type === 'artifact' && artifact) return lostOfArtifact(artifact)
  if (type === 'status') return lostOfMessage(status?.message)
  const whole = task ?? (status && 'artifacts' in value ? (value as unknown as Task) : undefined)
  return whole ? lostOfTask(whole) : []
}

/** The members of events, tasks and lists of tasks. */
interface ResultMembers {
  readonly type: StreamEvent['type']
  readonly message: Message
  readonly task: Task
  readonly artifact: Artifact
  readonly status: Task['status']
  readonly tasks: readonly Task[]
}

function lostOfMessage({ referenceTaskIds = [], extensions = [] }: Partial<Message> = {}): readonly string[] {
  const references = referenceTaskIds.length > 0 ? ['message.referenceTaskIds'] : []
  return extensions.length > 0 ? [...references, 'message.extensions'] : references
}

function lostOfArtifact({ extensions = [] }: Artifact): readonly string[] {
  return extensions.length > 0 ? ['artifact.extensions'] : []
}

function lostOfTask({ status, artifacts, history }: Task): readonly string[] {
  const messages = status.message ? [...history, status.message] : history
  return [...messages.flatMap(lostOfMessage), ...artifacts.flatMap(lostOfArtifact)]
}
