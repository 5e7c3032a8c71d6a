import { invalidParams, taskNotFound } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/model.ts'
import type { GetTaskRequest, ListTasksRequest, TaskPage } from '../../protocol/service.ts'
import { limitHistory, loadFold } from '../../tasks/fold.ts'
import type { ListCursor, TaskHead } from '../../tasks/log.ts'
import type { CallerLog } from '../caller-log.ts'

const defaultPageSize = 50

export async function getTask(request: GetTaskRequest, log: CallerLog): Promise<Task> {
  const head = await log.task(request)
  const task = (await loadFold(log, head)).task()
  if (!task) throw taskNotFound(request.taskId) // removed while it was read
  return limitHistory(task, request.historyLength)
}

/** Lists the caller's tasks, newest status first. A task that changes between two pages moves to the front. */
export async function listTasks(request: ListTasksRequest, log: CallerLog): Promise<TaskPage> {
  const { contextId, state, statusSince, pageSize = defaultPageSize, pageToken } = request
  const { historyLength = 0, includeArtifacts = false } = request
  const filter = JSON.stringify([contextId, state, statusSince])
  const { heads, total, next } = await log.list({
    contextId,
    phase: state,
    changedSince: statusSince === undefined ? undefined : Date.parse(statusSince),
    cursor: pageToken ? decodeToken(pageToken, filter) : undefined,
    limit: pageSize,
  })
  const isBrief = historyLength === 0 && !includeArtifacts
  const tasks: Task[] = []
  for (const head of heads) {
    const task = isBrief ? taskOfHead(head) : (await loadFold(log, head)).task()
    if (task) tasks.push(limitHistory(includeArtifacts ? task : { ...task, artifacts: [] }, historyLength))
  }
  const nextPageToken = next ? encodeToken(next, filter) : ''
  return { tasks, nextPageToken, pageSize, totalSize: total, withArtifacts: includeArtifacts }
}

/** A token is only a position in the list: the caller's scope is checked for every page. */
function decodeToken(token: string, filter: string): ListCursor {
  try {
    const [changed, key, tokenFilter]: unknown[] = JSON.parse(decodeURIComponent(atob(token)))
    if (Number.isSafeInteger(changed) && Number.isSafeInteger(key) && tokenFilter === filter) {
      return { changed: changed as number, key: key as number }
    }
  } catch {
    // Not a token of this server: the same answer as for a token of another list.
  }
  throw invalidParams('pageToken', 'expected the nextPageToken of a list with the same filters')
}

/** Most lists need neither history nor artifacts, so no events have to be read. */
function taskOfHead({ taskId, contextId, status, generation }: TaskHead): Task | undefined {
  return status && { id: taskId, contextId, status, artifacts: [], history: [], generation }
}

function encodeToken({ changed, key }: ListCursor, filter: string): string {
  return btoa(encodeURIComponent(JSON.stringify([changed, key, filter])))
}
