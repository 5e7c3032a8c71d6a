import { id } from '../limits.ts'
import { type Shape, string } from '../shape.ts'
import { wrongValue } from '../violation.ts'
import { type ConfigAddress, configName, taskName } from './names.ts'

/** Read as the id of the task. */
export const TaskName: Shape<string> = {
  ...string(),
  read(value) {
    const [, taskId] = read(value, /^tasks\/(.+)$/s, taskName('{id}'))
    return id.read(taskId)
  },
}

export const ConfigName: Shape<ConfigAddress> = {
  ...string(),
  read(value) {
    const form = /^tasks\/(.+)\/pushNotificationConfigs\/(.+)$/s
    const [, taskId, configId] = read(value, form, configName({ taskId: '{id}', id: '{id}' }))
    return { taskId: id.read(taskId), id: id.read(configId) }
  },
}

function read(value: unknown, form: RegExp, expected: string): RegExpExecArray {
  const match = typeof value === 'string' ? form.exec(value) : null
  if (match === null) throw wrongValue(`a name such as ${expected}`, value)
  return match
}
