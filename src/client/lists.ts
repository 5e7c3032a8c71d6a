import type { Task } from '../protocol/model.ts'
import type { PushConfig, Service } from '../protocol/service.ts'
import { allPages } from './all-pages.ts'
import { callOf } from './call.ts'
import type { CallOptions, TaskFilter } from './options.ts'

/** What agents list page by page, loaded when somebody wants a list. */

export function allTasks(service: Service, filter: TaskFilter, options?: CallOptions): AsyncGenerator<Task> {
  return allPages(async (pageToken) => {
    const page = await service.listTasks({ ...filter, ...(pageToken && { pageToken }) }, callOf(options))
    return { ...page, items: page.tasks }
  })
}

export function allPushConfigs(service: Service, taskId: string, options?: CallOptions): AsyncGenerator<PushConfig> {
  return allPages(async (pageToken) => {
    const page = await service.listPushConfigs({ taskId, ...(pageToken && { pageToken }) }, callOf(options))
    return { ...page, items: page.configs }
  })
}
