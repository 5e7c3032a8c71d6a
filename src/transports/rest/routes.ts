import { invalidParams } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/service.ts'

/** What a path of A2A's REST binding means. */
export interface Route {
  readonly operation: Operation
  /** Below `/v1`, as in 0.2 and 0.3. */
  readonly isLegacy: boolean
  readonly tenant?: string
  readonly taskId?: string
  readonly configId?: string
}

/** Undefined if the path is none of ours; the methods that it takes if this is not one of them. */
export type Match = Route | { readonly allow: string } | undefined

export function matchRoute(method: string, path: string): Match {
  const segments = path.split('/').slice(1)
  const isLegacy = segments[0] === 'v1'
  const plain = isLegacy ? segments.slice(1) : segments
  const [tenant, ...rest] = plain
  const direct = matchSegments(plain, isLegacy)
  const found = direct ?? (isLegacy || !tenant ? undefined : matchSegments(rest, false))
  if (!found) return undefined
  const operation = found.operations[method === 'HEAD' ? 'GET' : method]
  if (!operation) return { allow: Object.keys(found.operations).join(', ') }
  return {
    operation,
    isLegacy,
    ...(found.taskId !== undefined && { taskId: decode(found.taskId) }),
    ...(found.configId !== undefined && { configId: decode(found.configId) }),
    ...(!direct && tenant && { tenant: decode(tenant) }),
  }
}

/** `:` is part of the last segment and no parameter; ids are single segments. */
function matchSegments(segments: readonly string[], isLegacy: boolean): Found | undefined {
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

interface Found {
  readonly operations: Readonly<Record<string, Operation>>
  readonly taskId?: string
  readonly configId?: string
}

function matchSingle(segment: string, isLegacy: boolean): Found | undefined {
  if (segment === 'message:send') return { operations: { POST: 'sendMessage' } }
  if (segment === 'message:stream') return { operations: { POST: 'streamMessage' } }
  if (segment === 'tasks') return { operations: { GET: 'listTasks' } }
  const isCard = segment === (isLegacy ? 'card' : 'extendedAgentCard')
  return isCard ? { operations: { GET: 'getExtendedCard' } } : undefined
}

function matchTask(segment: string): Found | undefined {
  const [, taskId, verb] = /^([^:]+)(?::(cancel|subscribe))?$/.exec(segment) ?? []
  if (taskId === undefined) return undefined
  if (verb === 'cancel') return { operations: { POST: 'cancelTask' }, taskId }
  // The proto says GET, the text says POST.
  if (verb === 'subscribe') return { operations: { GET: 'subscribeToTask', POST: 'subscribeToTask' }, taskId }
  return { operations: { GET: 'getTask' }, taskId }
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    throw invalidParams('path', 'expected percent-encoded UTF-8')
  }
}
