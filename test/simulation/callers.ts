import { A2AError } from '../../src/core/protocol/errors.ts'
import type { StreamEvent } from '../../src/core/protocol/events.ts'
import { anonymous, type Message, type Task } from '../../src/core/protocol/model.ts'
import type { Call, Outcome, Service } from '../../src/core/protocol/service.ts'
import type { Replica } from './cluster.ts'
import type { RecordedTask } from './history.ts'
import type { Reading } from './schedule.ts'
import type { Process, World } from './world.ts'

/** A call of a caller, and how it ended. Without an end, it is still open; with a dead process, it is lost. */
export interface CallRecord {
  readonly type: 'send' | 'cancel' | 'get' | 'stream'
  readonly label: string
  readonly process: Process
  /** When the process received the call. */
  startedAt: number
  /** The task that the call addresses. Unknown for a new one. */
  readonly task?: RecordedTask
  /** How many events the addressed task had when the call began, and whether it had ended. */
  readonly generationBefore?: number
  readonly message?: Message
  readonly reading?: Reading
  /** The generation that a resumed stream continues after. */
  readonly after?: number
  readonly received: StreamEvent[]
  readonly disconnect: () => void
  isDisconnected: boolean
  endedAt?: number
  result?: Outcome | Task | 'end'
  error?: unknown
}

export interface SentMessage {
  readonly message: Message
  readonly isImmediate: boolean
}

export interface Callers {
  readonly calls: readonly CallRecord[]
  /** Messages in the order in which they were first sent. */
  readonly messages: readonly SentMessage[]
  readonly streams: readonly CallRecord[]
  send(replica: Replica, text: string, reading: Reading, task?: RecordedTask): void
  /** Sends a message again, as a caller does that got no answer. A repeated request must be equal. */
  repeat(replica: Replica, sent: SentMessage, reading: Reading): void
  cancel(replica: Replica, task: RecordedTask): void
  get(replica: Replica, task: RecordedTask): void
  subscribe(replica: Replica, task: RecordedTask, after?: number): void
}

type NewCall = Pick<CallRecord, 'type' | 'label' | 'task' | 'message' | 'reading' | 'after'>

/** Callers of the replicas. They record what they get, and never judge it. */
export function createCallers(world: World): Callers {
  const calls: CallRecord[] = []
  const messages: SentMessage[] = []

  /** The request arrives at the process in a step of its own: a frozen process gets it when it is thawed. */
  function begin(
    { process, service }: Replica,
    call: NewCall,
    run: (service: Service, call: Call) => Promise<unknown>,
  ) {
    const controller = new AbortController()
    const { task } = call
    const record: CallRecord = {
      ...call,
      process,
      startedAt: world.time,
      ...(task && { generationBefore: task.events.length }),
      received: [],
      isDisconnected: false,
      disconnect() {
        record.isDisconnected = true
        controller.abort('disconnected')
      },
    }
    calls.push(record)
    const context: Call = {
      principal: anonymous,
      signal: controller.signal,
      ...(call.message && { idempotencyKey: call.message.messageId }),
    }
    const end = (result: Partial<CallRecord>) => {
      if (process.state === 'dead') return
      Object.assign(record, result, { endedAt: world.time })
      world.note(process.name, () => `answers ${call.label}: ${describeEnd(record)}`)
    }
    world.add({
      label: () => `receives ${call.label}`,
      process,
      run() {
        record.startedAt = world.time
        run(service, context).then(
          (result) => end({ result: result as CallRecord['result'] }),
          (error) => end({ error }),
        )
      },
    })
    return record
  }

  async function readAll(events: AsyncIterable<StreamEvent>, received: StreamEvent[]): Promise<'end'> {
    for await (const event of events) received.push(event)
    return 'end'
  }

  function sendMessage(replica: Replica, message: Message, reading: Reading, task?: RecordedTask): void {
    const label = `"${message.parts.map((part) => ('text' in part ? part.text : ''))}" (${message.messageId}, ${reading})`
    const call: NewCall = { type: reading === 'stream' ? 'stream' : 'send', label, message, reading, task }
    const request = { message, ...(reading === 'immediate' && { configuration: { returnImmediately: true } }) }
    const record = begin(replica, call, (service, context) =>
      reading === 'stream'
        ? readAll(service.streamMessage(request, context), record.received)
        : service.sendMessage(request, context),
    )
  }

  return {
    calls,
    messages,
    get streams() {
      return calls.filter(({ type }) => type === 'stream')
    },
    send(replica, text, reading, task) {
      const messageId = `m${messages.length + 1}`
      const message: Message = {
        messageId,
        role: 'user',
        parts: [{ text }],
        ...(task && { taskId: task.taskId }),
      }
      messages.push({ message, isImmediate: reading === 'immediate' })
      sendMessage(replica, message, reading, task)
    },
    repeat(replica, { message, isImmediate }, reading) {
      const repeated = reading === 'immediate' ? 'wait' : reading
      sendMessage(replica, message, isImmediate ? 'immediate' : repeated)
    },
    cancel(replica, task) {
      begin(replica, { type: 'cancel', label: `a cancel of task ${task.number}`, task }, (service, context) =>
        service.cancelTask({ taskId: task.taskId }, context),
      )
    },
    get(replica, task) {
      begin(replica, { type: 'get', label: `a get of task ${task.number}`, task }, (service, context) =>
        service.getTask({ taskId: task.taskId }, context),
      )
    },
    subscribe(replica, task, after) {
      const label = `a subscription to task ${task.number}${after === undefined ? '' : ` after ${after}`}`
      const call: NewCall = { type: 'stream', label, task, ...(after !== undefined && { after }) }
      const record = begin(replica, call, (service, context) =>
        readAll(service.subscribeToTask({ taskId: task.taskId, after }, context), record.received),
      )
    },
  }
}

/** Whether a caller waits for the end of a call, and a process for the call. */
export function isAwaited({ endedAt, process, isDisconnected }: CallRecord): boolean {
  return endedAt === undefined && process.state !== 'dead' && !isDisconnected
}

/** The generation of the last event that a stream has received. */
export function lastReceived({ received, after = 0 }: CallRecord): number {
  const last = received.at(-1)
  if (last?.type === 'task') return last.task.generation
  return last && 'generation' in last ? last.generation : after
}

export function codeOf(error: unknown): string {
  return error instanceof A2AError ? error.code : String(error)
}

function describeEnd({ result, error, received }: CallRecord): string {
  if (error !== undefined) return codeOf(error)
  if (result === 'end') return `${received.length} events`
  if (!result) return 'nothing'
  const task = 'status' in result ? result : result.type === 'task' ? result.task : undefined
  return task ? `${task.status.state} at ${task.generation}` : 'a message'
}
