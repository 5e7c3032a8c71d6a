import { invalidParams, taskNotFound } from '../../protocol/errors.ts'
import type { Task } from '../../protocol/model.ts'
import type { Call, GetTaskRequest, ListTasksRequest, TaskPage } from '../../protocol/service.ts'
import { limitHistory, loadFold, splitStatus } from '../../tasks/fold.ts'
import type { ListCursor, TaskHead } from '../../tasks/log.ts'
import { revisionAt } from '../../tasks/revisions.ts'
import type { CallerLog } from '../caller-log.ts'

const defaultPageSize = 50

/** Callers that may wait while other large tasks are read. Further ones get 503, so that short calls are not delayed. */
const maxWaitingReaders = 8

/** A page with artifacts or history ends after this many characters, so that any list can be built and sent. */
const maxPageLength = 8 * 2 ** 20

export async function getTask(request: GetTaskRequest, log: CallerLog): Promise<Task> {
  const head = await log.task(request)
  const task = (await loadFold(log, head, maxWaitingReaders)).task()
  if (!task) throw taskNotFound(request.taskId) // removed while it was read
  return limitHistory(task, request.historyLength)
}

/** Lists the caller's tasks, newest status first. A task that changes between two pages moves to the front. */
export async function listTasks(
  request: ListTasksRequest,
  { signal }: Pick<Call, 'signal'>,
  log: CallerLog,
): Promise<TaskPage> {
  const { contextId, state, statusSince, pageSize = defaultPageSize, pageToken } = request
  const { historyLength = 0, includeArtifacts = false, includeRevisions = false } = request
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
  let length = 0
  for (const [n, head] of heads.entries()) {
    // The caller has gone, so the page is not sent.
    if (signal.aborted && !isBrief) break
    const task = isBrief ? taskOfHead(head) : (await loadFold(log, head, maxWaitingReaders)).task()
    if (!task) continue
    const listed = limitHistory(includeArtifacts ? task : { ...task, artifacts: [] }, historyLength)
    if (!isBrief) {
      length += lengthOf(listed.artifacts) + lengthOf(listed.history)
      const previous = heads[n - 1]
      if (length > maxPageLength && tasks.length > 0 && previous) {
        const nextPageToken = encodeToken(previous, filter)
        return { tasks, nextPageToken, pageSize, totalSize: total, withArtifacts: includeArtifacts }
      }
    }
    const isCounted = includeRevisions && isBrief
    tasks.push(isCounted ? { ...listed, revision: await revisionAt(log, task.id, task.generation) } : listed)
  }
  const nextPageToken = next ? encodeToken(next, filter) : ''
  return { tasks, nextPageToken, pageSize, totalSize: total, withArtifacts: includeArtifacts }
}

/** About the number of characters of a value in JSON. */
function lengthOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2
  if (typeof value !== 'object' || value === null) return 4
  let length = 2
  for (const key of Object.keys(value)) length += key.length + 4 + lengthOf(value[key as keyof typeof value])
  return length
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
  return status && { id: taskId, contextId, ...splitStatus(status), artifacts: [], history: [], generation }
}

function encodeToken({ changed, key }: ListCursor, filter: string): string {
  return btoa(encodeURIComponent(JSON.stringify([changed, key, filter])))
}
