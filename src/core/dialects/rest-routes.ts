import { defined } from '../base/json.ts'
import { invalidParams } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'

/** The path below which a version has its REST operations: since 1.0 none. */
export type RestPrefix = '' | '/v1'

/** The meaning of a path of A2A's REST binding. */
export interface Route {
  readonly operation: Operation
  readonly prefix: RestPrefix
  readonly tenant?: string
  readonly taskId?: string
  readonly configId?: string
}

/** The allowed methods if the path has other methods than the one of the request. Undefined for an unknown path. */
export type Match = Route | { readonly allow: string } | undefined

export function matchRoute(method: string, path: string): Match {
  const segments = path.split('/').slice(1)
  const isLegacy = segments[0] === 'v1'
  const unversioned = isLegacy ? segments.slice(1) : segments
  const [tenant, ...rest] = unversioned
  const direct = matchSegments(unversioned, isLegacy)
  const resource = direct ?? (isLegacy || !tenant ? undefined : matchSegments(rest, false))
  if (!resource) return undefined
  const { operations, taskId, configId } = resource
  const operation = operations[method === 'HEAD' ? 'GET' : method]
  if (!operation) return { allow: Object.keys(operations).join(', ') }
  return defined({
    operation,
    prefix: isLegacy ? '/v1' : '',
    taskId: taskId === undefined ? undefined : decodeSegment(taskId),
    configId: configId === undefined ? undefined : decodeSegment(configId),
    tenant: !direct && tenant ? decodeSegment(tenant) : undefined,
  })
}

/** A path with its operations by HTTP method, and the ids in it, still encoded. */
interface Resource {
  readonly operations: Readonly<Record<string, Operation>>
  readonly taskId?: string
  readonly configId?: string
}

/** A `:` belongs to the last segment and is not a parameter; ids are single segments. */
function matchSegments(segments: readonly string[], isLegacy: boolean): Resource | undefined {
  const [first = '', second, third, configId, ...more] = segments
  if (more.length > 0) return undefined
  if (segments.length === 1) return matchSingle(first, isLegacy)
  if (first !== 'tasks' && !(isLegacy && first === 'task')) return undefined
  if (segments.length === 2) return matchTask(second ?? '')
  const isPush = third === 'pushNotificationConfigs' || (isLegacy && third === 'pushNotifications')
  if (!isPush || !second || configId === '') return undefined
  return configId === undefined
    ? { operations: { GET: 'listPushConfigs', POST: 'createPushConfig' }, taskId: second }
    : { operations: { GET: 'getPushConfig', DELETE: 'deletePushConfig' }, taskId: second, configId }
}

function matchSingle(segment: string, isLegacy: boolean): Resource | undefined {
  if (segment === 'message:send') return { operations: { POST: 'sendMessage' } }
  if (segment === 'message:stream') return { operations: { POST: 'streamMessage' } }
  if (segment === 'tasks') return { operations: { GET: 'listTasks' } }
  const isCard = segment === (isLegacy ? 'card' : 'extendedAgentCard')
  return isCard ? { operations: { GET: 'getExtendedCard' } } : undefined
}

function matchTask(segment: string): Resource | undefined {
  const [, taskId, verb] = /^([^:]+)(?::(cancel|subscribe))?$/.exec(segment) ?? []
  if (taskId === undefined) return undefined
  if (verb === 'cancel') return { operations: { POST: 'cancelTask' }, taskId }
  // The proto file has GET, the text of the specification POST.
  if (verb === 'subscribe') return { operations: { GET: 'subscribeToTask', POST: 'subscribeToTask' }, taskId }
  return { operations: { GET: 'getTask' }, taskId }
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidParams('path', 'expected percent-encoded UTF-8')
  }
}
