import type { Content } from '../agent/content.ts'
import { perform } from '../agent/perform.ts'
import { refused } from '../agent/refused.ts'
import { createTurn, type TurnContext } from '../agent/turn.ts'
import type { Voice } from '../agent/voice.ts'
import type { MessageEvent } from '../protocol/events.ts'
import { isEnded, isInterrupted } from '../protocol/states.ts'
import type { Fold } from '../tasks/fold.ts'
import { loadFold } from '../tasks/load.ts'
import type { NewTask } from '../tasks/log.ts'
import { describeFailure } from './failure.ts'
import type { Inbox } from './inbox.ts'
import type { RuntimeSettings } from './options.ts'
import type { Stop, StopReason } from './stop.ts'
import type { Writer } from './writer.ts'

export interface TurnStart {
  readonly task: NewTask
  readonly message: MessageEvent
  readonly isFirst: boolean
  readonly stop: Stop
  readonly writer: Writer
  readonly inbox: Inbox
  readonly voice: Voice
}

/** Lets the agent answer one message and stores what its answer means. Gives the reason if it was stopped. */
export async function runTurn(start: TurnStart, settings: RuntimeSettings): Promise<StopReason | undefined> {
  const { task, message, isFirst, stop, writer, inbox, voice } = start
  const { log, logger, agent, taskAfter } = settings
  /** The caller will know it as a task. Ahead of `writer.phase`, which tells what is stored. */
  let isTask = writer.phase !== 'received'
  let toldStatus = false

  function becomesTask(): void {
    if (!isTask) void writer.emit(voice.status('working'))
    isTask = true
  }

  function context(fold: Fold | undefined): TurnContext {
    const said = fold?.messages() ?? []
    return {
      taskId: task.taskId,
      contextId: task.contextId,
      received: message,
      task: fold?.task(),
      history: said.slice(
        0,
        said.findLastIndex(({ messageId }) => messageId === message.message.messageId),
      ),
      signal: stop.signal,
      log: logger,
      emit(event) {
        if (stop.over) return refused(`This turn of task ${task.taskId} is over (${stop.reason ?? 'it has returned'}).`)
        if (event.type === 'status') isTask = toldStatus = true
        else becomesTask()
        return writer.emit(event)
      },
      async nextMessage() {
        const next = await inbox.next(stop.signal)
        if (writer.phase === 'input-required') void writer.emit(voice.status('working'))
        return next
      },
    }
  }

  /** What a returned value means, given what the turn has already told. */
  function conclude(result: Content | undefined): Promise<void> | undefined {
    if (isEnded(writer.phase) || (result === undefined && isInterrupted(writer.phase))) return undefined
    if (isTask || result === undefined) return writer.emit(voice.status('completed', result))
    const { taskId: _, ...reply } = voice.message(result)
    return writer.emit({ type: 'reply', message: reply })
  }

  function fail(error: unknown): Promise<void> | undefined {
    const { text, reference } = describeFailure(error)
    logger.error({ taskId: task.taskId, reference, error }, 'the agent failed')
    return isEnded(writer.phase) ? undefined : writer.emit(voice.status('failed', text))
  }

  if (!isFirst) void writer.emit(voice.status('working'))
  const turn = createTurn(context(isFirst ? undefined : await loadFold(log, task)))
  const work = perform(agent.run, turn, becomesTask)
  // Most agents have touched the task by now.
  const slow = isTask ? undefined : setTimeout(becomesTask, taskAfter)
  const done = await stop.race(work)
  clearTimeout(slow)
  stop.close()
  // What the agent emitted without awaiting it comes before its end. Artifacts go together with it; only a status that
  // the agent told has to be stored before we know how the task stands.
  const pending = toldStatus || stop.reason || !done ? writer.settled() : undefined
  if (pending) await pending
  if (stop.reason || !done) return stop.reason
  await ('error' in done ? fail(done.error) : conclude(done.value))
  return undefined
}
