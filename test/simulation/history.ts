import type { StoredEvent, TaskEvent } from '../../src/core/protocol/events.ts'
import { textOf } from '../../src/core/protocol/model.ts'
import { isEnded, isInterrupted, type Phase } from '../../src/core/protocol/states.ts'
import { processGone } from '../../src/core/runtime/recovery/resume.ts'
import type { Appended, AppendOptions, Created, Lease, NewTask } from '../../src/core/tasks/log.ts'
import type { Behaviour } from './agent.ts'
import type { Process } from './world.ts'

/** A task as the store must have it, recorded beside the store. */
export interface RecordedTask extends NewTask {
  /** Names the task in traces: 1, 2, … */
  readonly number: number
  readonly events: StoredEvent[]
  phase: Phase
  /** When the task ended, as a perfect clock has it. */
  endedAt?: number
  fence: number
  writer: Process
  /** The fence under which the last turn ended with a question. Undefined after another status of a writer. */
  pausedUnder?: number | undefined
}

/** A rule that was broken, and how. */
export interface Violation {
  readonly rule: string
  readonly text: string
}

/** Everything that was stored, with the rules that hold for every single write. */
export interface History {
  readonly tasks: ReadonlyMap<string, RecordedTask>
  readonly violations: Violation[]
  created(process: Process, task: NewTask, events: readonly TaskEvent[], result: Created): void
  appended(
    process: Process,
    taskId: string,
    events: readonly TaskEvent[],
    options: AppendOptions,
    result: Appended,
  ): void
  acquired(process: Process, taskId: string, lease: Lease | undefined): void
}

export function createHistory(now: () => number): History {
  const tasks = new Map<string, RecordedTask>()
  const violations: Violation[] = []
  const report = (rule: string, text: string) => void violations.push({ rule, text })

  function store(task: RecordedTask, events: readonly TaskEvent[], generation: number): void {
    for (const event of events) {
      if (isEnded(task.phase))
        report('a task ends once', `task ${task.number} has an event after its end: ${event.type}`)
      task.events.push({ generation: task.events.length + 1, event })
      if (event.type === 'status') task.phase = event.status.state
      if (event.type === 'reply') task.phase = 'answered'
    }
    if (isEnded(task.phase)) task.endedAt ??= now()
    const { length } = task.events
    if (length !== generation) {
      report(
        'generations are dense',
        `task ${task.number} has ${length} events, and the store says it is at ${generation}`,
      )
    }
  }

  /** Called before the events of a writer are stored. */
  function checkPause(task: RecordedTask, events: readonly TaskEvent[], fence: number): void {
    const status = events.findLast((event) => event.type === 'status')
    if (!status || !isOfBehaviour(task, events, 'rest')) return
    const { pausedUnder } = task
    const isGone = status.status.message?.parts.some((part) => 'text' in part && part.text === processGone)
    if (isGone && pausedUnder !== undefined && (fence === pausedUnder + 1 || isUnanswered(task))) {
      report('a paused task can continue', `task ${task.number} failed although no turn was interrupted`)
    }
    task.pausedUnder = isInterrupted(status.status.state) ? fence : undefined
  }

  function grant(process: Process, task: RecordedTask, { fence }: Lease): void {
    if (fence <= task.fence)
      report('fences grow', `task ${task.number} was leased with fence ${fence} after ${task.fence}`)
    task.fence = fence
    task.writer = process
  }

  return {
    tasks,
    violations,
    created(process, ids, events, result) {
      if (result.type !== 'stored') return
      const number = tasks.size + 1
      const task: RecordedTask = { ...ids, number, events: [], phase: 'received', fence: 0, writer: process }
      tasks.set(ids.taskId, task)
      grant(process, task, result.lease)
      checkPause(task, events, result.lease.fence)
      store(task, events, result.generation)
    },
    appended(process, taskId, events, { fence }, result) {
      const task = tasks.get(taskId)
      if (!task || result.type !== 'stored') return
      if (fence === undefined) {
        const output = events.find((event) => !isOfCaller(event))
        if (output)
          report(
            'a task has one writer',
            `${process.name} wrote to task ${task.number} without a lease: ${output.type}`,
          )
      } else if (fence !== task.fence || process !== task.writer) {
        report(
          'a task has one writer',
          `${process.name} wrote to task ${task.number}, whose writer is ${task.writer.name}`,
        )
      }
      if (fence !== undefined) checkPause(task, events, fence)
      const isAsking = isInterrupted(task.phase)
      store(task, events, result.generation)
      if (isAsking && isInterrupted(task.phase) && events[0]?.type === 'message') {
        report('an answered task no longer asks', `task ${task.number} is ${task.phase} after its answer`)
      }
      if (result.lease) grant(process, task, result.lease)
    },
    acquired(process, taskId, lease) {
      const task = tasks.get(taskId)
      if (task && lease) grant(process, task, lease)
    },
  }
}

/** Whether the first message of a task, which may be among the new events, makes the agent behave like that. */
function isOfBehaviour({ events }: RecordedTask, newEvents: readonly TaskEvent[], behaviour: Behaviour): boolean {
  const first = events[0]?.event ?? newEvents[0]
  return first?.type === 'message' && textOf(first.message) === behaviour
}

/** Whether any process may store the event: a message with the status that ends its question, or a cancellation. */
function isOfCaller(event: TaskEvent): boolean {
  return event.type === 'message' || event.type === 'cancel' || (event.type === 'status' && event.withAnswer === true)
}

/** Whether a task waits for a message and got none since it asked. */
export function isUnanswered({ phase, events }: RecordedTask): boolean {
  if (!isInterrupted(phase)) return false
  const asked = events.findLastIndex(({ event }) => event.type === 'status')
  return !events.slice(asked).some(({ event }) => event.type === 'message' || event.type === 'cancel')
}

/** What happened, for traces. */
export function describeEvent(event: TaskEvent): string {
  switch (event.type) {
    case 'status':
      return event.status.state
    case 'journal':
      return `journal:${event.entry.type}`
    case 'message':
      return `message ${event.message.messageId}`
    case 'cancel':
    case 'reply':
    case 'artifact':
      return event.type
  }
}
