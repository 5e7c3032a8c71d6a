/** In the proto of 0.3 tasks and push configs have names, as resources of Google's APIs have. */

export function taskName(taskId: string): string {
  return `tasks/${taskId}`
}

export interface ConfigAddress {
  readonly taskId: string
  readonly id: string
}

export function configName({ taskId, id }: ConfigAddress): string {
  return `tasks/${taskId}/pushNotificationConfigs/${id}`
}
