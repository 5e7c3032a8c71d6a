import { type Schema, wrongValue } from '../../schema/schema.ts'
import { string } from '../../schema/values.ts'
import { id } from '../codec.ts'

/** A task's resource name, read as the id of the task. The proto of 0.3 has names like those of Google's APIs. */
export const TaskName: Schema<string> = {
  ...string(),
  read(value) {
    const [, taskId] = matchName(value, /^tasks\/(.+)$/s, taskName('{id}'))
    return id.read(taskId)
  },
}

/** The resource name of a push config, read as its ids. */
export const ConfigName: Schema<ConfigAddress> = {
  ...string(),
  read(value) {
    const pattern = /^tasks\/(.+)\/pushNotificationConfigs\/(.+)$/s
    const [, taskId, configId] = matchName(value, pattern, configName({ taskId: '{id}', id: '{id}' }))
    return { taskId: id.read(taskId), id: id.read(configId) }
  },
}

export interface ConfigAddress {
  readonly taskId: string
  readonly id: string
}

export function taskName(taskId: string): string {
  return `tasks/${taskId}`
}

export function configName({ taskId, id }: ConfigAddress): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`
}

function matchName(value: unknown, pattern: RegExp, expected: string): RegExpExecArray {
  const match = typeof value === 'string' ? pattern.exec(value) : null
  if (match === null) throw wrongValue(`a name such as ${expected}`, value)
  return match
}
