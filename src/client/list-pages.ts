import { A2AError } from '../protocol/errors.ts'
import type { Task } from '../protocol/model.ts'
import type { PushConfig, Service } from '../protocol/service.ts'
import { callOf } from './call.ts'
import type { CallOptions, TaskFilter } from './options.ts'

/** So many pages in a row may have nothing: agents that look for the right ones only then have such. */
const mostEmpty = 100

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

export interface Page<T> {
  readonly items: readonly T[]
  readonly nextPageToken: string
}

/** All that an agent lists page by page. One that gives no token, or the same again, has no more. */
async function* allPages<T>(ask: (pageToken: string | undefined) => Promise<Page<T>>): AsyncGenerator<T> {
  let pageToken: string | undefined
  let empty = 0
  do {
    const { items, nextPageToken } = await ask(pageToken)
    yield* items
    empty = items.length === 0 ? empty + 1 : 0
    if (empty >= mostEmpty) throw endless()
    if (nextPageToken === pageToken) return
    pageToken = nextPageToken
  } while (pageToken)
}

function endless(): A2AError {
  const problem = `The agent promises more in its list again and again, but its last ${mostEmpty} pages were empty.`
  const hint = 'Ask for less by a filter, or tell whoever runs the agent that its page tokens lead nowhere.'
  return new A2AError('invalid-agent-response', problem, { reason: 'endless-list', hint })
}
