import { type Schema, string, wrongValue } from '../../schema/schema.ts'
import { id } from '../request-limits.ts'

/** Read as the id of the task. */
export const TaskName: Schema<string> = {
  ...string(),
  read(value) {
    const [, taskId] = read(value, /^tasks\/(.+)$/s, taskName('{id}'))
    return id.read(taskId)
  },
}

export interface ConfigAddress {
  readonly taskId: string
  readonly id: string
}

export const ConfigName: Schema<ConfigAddress> = {
  ...string(),
  read(value) {
    const form = /^tasks\/(.+)\/pushNotificationConfigs\/(.+)$/s
    const [, taskId, configId] = read(value, form, configName({ taskId: '{id}', id: '{id}' }))
    return { taskId: id.read(taskId), id: id.read(configId) }
  },
}

/** In the proto of 0.3 tasks and push configs have names, as resources of Google's APIs have. */

export function taskName(taskId: string): string {
  return `tasks/${taskId}`
}

export function configName({ taskId, id }: ConfigAddress): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`
}

function read(value: unknown, form: RegExp, expected: string): RegExpExecArray {
  const match = typeof value === 'string' ? form.exec(value) : null
  if (match === null) throw wrongValue(`a name such as ${expected}`, value)
  return match
}
