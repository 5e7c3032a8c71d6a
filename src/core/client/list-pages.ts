import { A2AError } from '../protocol/errors.ts'
import type { Task } from '../protocol/model.ts'
import type { PushConfig, Service } from '../protocol/service.ts'
import type { CallOptions, TaskFilter } from './options.ts'
import { callOf } from './send-request.ts'

/** How many empty pages may follow each other: agents that filter after they page have such. */
const maxEmptyPages = 100

export function allTasks(service: Service, filter: TaskFilter, options?: CallOptions): AsyncGenerator<Task> {
  return allPages(async (pageToken) => {
    const page = await service.listTasks({ ...filter, pageToken }, callOf(options))
    return { ...page, items: page.tasks }
  })
}

export function allPushConfigs(service: Service, taskId: string, options?: CallOptions): AsyncGenerator<PushConfig> {
  return allPages(async (pageToken) => {
    const page = await service.listPushConfigs({ taskId, pageToken }, callOf(options))
    return { ...page, items: page.configs }
  })
}

interface Page<T> {
  readonly items: readonly T[]
  readonly nextPageToken: string
}

/** The items of all pages. A page without a token, or with the token of the page before it, is the last one. */
async function* allPages<T>(getPage: (pageToken: string | undefined) => Promise<Page<T>>): AsyncGenerator<T> {
  let pageToken: string | undefined
  let emptyPages = 0
  do {
    const { items, nextPageToken } = await getPage(pageToken)
    yield* items
    emptyPages = items.length === 0 ? emptyPages + 1 : 0
    if (emptyPages >= maxEmptyPages) throw endlessList()
    if (nextPageToken === pageToken) return
    pageToken = nextPageToken
  } while (pageToken)
}

function endlessList(): A2AError {
  const problem = `The agent keeps announcing further pages of its list, but the last ${maxEmptyPages} were empty.`
  const hint = 'Use a narrower filter, or report to the operator of the agent that its page tokens never end.'
  return new A2AError('invalid-agent-response', problem, { reason: 'endless-list', hint })
}
