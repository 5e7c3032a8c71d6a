import { A2AError } from '../../protocol/errors.ts'
import type { StreamEvent } from '../../protocol/events.ts'
import { isObject } from '../is-object.ts'

/** Why a task failed whose caller did not answer in time: in the metadata of its last status, or of the message there. */
const reason = 'INPUT_TIMEOUT'

/** The house may tell this failure as an error, too. */
export function inputTimeoutIn(event: StreamEvent): A2AError | undefined {
  const told = event.type === 'task' ? { ...event.task, taskId: event.task.id } : event
  if (!event.isLast || !('status' in told) || told.status.state !== 'failed') return undefined
  const { taskId, status, metadata } = told
  const facts = [metadata, status.message?.metadata].find((each) => isObject(each) && each.reason === reason)
  if (facts === undefined) return undefined
  const { timeoutSeconds } = facts
  return new A2AError('input-timeout', 'Input timeout', {
    metadata: { taskId, ...(timeoutSeconds !== undefined && { timeoutSeconds: `${timeoutSeconds}` }) },
  })
}
