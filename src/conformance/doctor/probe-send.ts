import type { Notice } from '../../core/client/options.ts'
import type { AgentInterface } from '../../core/protocol/card.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import type { TaskStatus } from '../../core/protocol/model.ts'
import { attempt, openClient, type ProbeOptions } from './interface-calls.ts'
import { collectFindings, type Finding } from './report.ts'

/** Milliseconds in which the task of the message must end or need the caller. */
const taskTimeout = 120_000

/** Sends a real message, as a stream if the card claims streams, and judges what arrives and when. */
export async function probeSend(
  each: AgentInterface,
  text: string,
  options: ProbeOptions,
): Promise<readonly Finding[]> {
  const { recorder, card, signal } = options
  const mark = recorder.mark()
  const { findings, add } = collectFindings(each, () => recorder.since(mark).slice(-2))
  const notices: Notice[] = []
  const client = await openClient(each, options, (notice) => notices.push(notice))
  const call = { signal, timeout: taskTimeout }
  let isCounted = true
  let last: TaskStatus | undefined
  let hasArtifacts = false
  const outcome = await attempt(async () => {
    if (card.capabilities.streaming !== true) {
      const { task } = await client.send(text, call)
      isCounted = task?.revision !== undefined
      last = task?.status
      hasArtifacts = task !== undefined && task.artifacts.length > 0
      return last?.state
    }
    for await (const event of client.stream(text, call)) {
      if (event.type === 'task') last = event.task.status
      if (event.type === 'status') last = event.status
      hasArtifacts ||= event.type === 'artifact' || (event.type === 'task' && event.task.artifacts.length > 0)
      // The client removes the numbers of an agent that counts wrongly.
      if (event.type !== 'message') isCounted = (event.type === 'task' ? event.task : event).revision !== undefined
    }
    return last?.state
  })
  if (each.protocolVersion.startsWith('1.1') && outcome !== undefined && !isCounted) {
    const problem = 'The task has no generation, or its generation does not grow by one with every event.'
    add('error', 'generation-wrong', problem, 'Count the changes of a task from 1, or do not declare A2A 1.1.')
  }
  for (const notice of notices) {
    if (notice.type === 'buffered') add('warning', 'buffered', notice.message, notice.hint)
    if (notice.type === 'polling') {
      const fix = 'Implement streams, or set capabilities.streaming to false.'
      add(
        'error',
        'streaming-refused',
        `The card claims streaming, but the message was answered without: ${notice.message}`,
        fix,
      )
    }
  }
  if (outcome instanceof A2AError) {
    add(
      'error',
      outcome.reason ?? outcome.code,
      `The message failed: ${outcome.message}`,
      outcome.hint ?? 'See the log of the agent.',
    )
  } else if (outcome === 'failed' || outcome === 'rejected') {
    add('warning', 'task-failed', `The task of the message ended as ${outcome}.`, 'See the log of the agent.')
  } else {
    const result = outcome === undefined ? 'a message' : `a task, which is now ${outcome}`
    add('info', 'message-answered', `The agent answered the message with ${result}.`)
    // The client moves the answers of Parley agents to the status, and marks them.
    if (outcome === 'completed' && (last?.isAnswer || (hasArtifacts && !last?.message))) {
      const problem = 'The answer is an artifact of its task. assistant-ui shows only the texts of statuses.'
      const fix =
        "If callers use assistant-ui, put the answer into the last status: Parley does by turns: { answers: 'status' }."
      add('info', 'answer-in-artifact', problem, fix)
    }
  }
  return findings
}
