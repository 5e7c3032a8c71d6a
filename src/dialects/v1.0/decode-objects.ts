import type { Task, TaskStatus } from '../../protocol/model.ts'
import { decodeBareStatus } from '../bare-status.ts'
import type { TypeOf } from '../shape.ts'
import { generation } from '../unnumbered.ts'
import { carrying } from './carry.ts'
import type * as wire from './schemas.ts'

/** Messages, artifacts and push configs are read as the model has them. */

export function decodeStatus(status: TypeOf<typeof wire.TaskStatus>): TaskStatus {
  return { ...status, ...decodeBareStatus(status, carrying) }
}

/** What an agent leaves open is empty in the model. */
export function decodeTask(task: TypeOf<typeof wire.Task>): Task {
  const { contextId = '', status, artifacts = [], history = [], ...rest } = task
  return { ...rest, contextId, status: decodeStatus(status), artifacts, history, generation }
}
