import type { Logger } from '../core/base/logger.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import type { Interceptor } from '../core/protocol/intercept.ts'
import type { Artifact, Message, Task } from '../core/protocol/model.ts'
import type { SendRequest } from '../core/protocol/service.ts'
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
  /** What of a message the dialect of the agent lacks. */
  toAgent(dialectOf: () => string | undefined, request: SendRequest): void
  /** Counts what the dialect of callers lacks in answers to their messages. */
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

  function toCaller(dialect: string, event: StreamEvent): void {
    if (event.type === 'message') count(lostOfMessage(event.message), 'caller', dialect)
    else if (event.type === 'artifact') count(lostOfArtifact(event.artifact), 'caller', dialect)
    else count(event.type === 'task' ? lostOfTask(event.task) : lostOfMessage(event.status.message), 'caller', dialect)
  }

  return {
    list: () => [...counts.values()],
    toAgent(dialectOf, { message }) {
      const members = lostOfMessage(message)
      const dialect = members.length > 0 ? dialectOf() : undefined
      if (dialect !== undefined && lossyDialects.has(dialect)) count(members, 'agent', dialect)
    },
    interceptor: {
      async sendMessage(request, call, next) {
        const outcome = await next(request, call)
        const { dialect } = request
        if (dialect !== undefined && lossyDialects.has(dialect)) toCaller(dialect, outcome)
        return outcome
      },
      streamMessage(request, call, next) {
        const events = next(request, call)
        const { dialect } = request
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
