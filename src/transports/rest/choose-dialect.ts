import type { RestCall, ServerDialect } from '../../dialects/dialect.ts'
import { type Speaking, spokenVersion, versionNotSupported } from '../../dialects/negotiate.ts'
import { A2AError } from '../../protocol/errors.ts'
import type { TaskAddress } from '../../protocol/service.ts'
import type { Route } from './routes.ts'

export interface RestProposal {
  readonly route: Route
  readonly rest: RestCall
  /** Major.Minor. */
  readonly version: string | undefined
}

type Recall = (address: TaskAddress) => Promise<string | undefined>

/**
 * The dialect of a REST call: by its version; else by its path, which is below `/v1` in older dialects; where several
 * share a path, by its form, or by what this caller spoke to the task before.
 */
export async function chooseDialect(
  proposal: RestProposal,
  speaking: Speaking,
  recall: Recall,
): Promise<ServerDialect> {
  const { route, rest, version } = proposal
  const able = speaking.dialects.filter(({ bindings }) => bindings.includes('HTTP+JSON'))
  const asked = spokenVersion(version, speaking)
  const spoken = able.filter((dialect) => (asked === undefined ? isAt(dialect, route) : isOf(dialect, asked)))
  const [first] = spoken
  if (first === undefined) throw versionNotSupported(`A2A ${asked ?? 'of this path'} is not spoken here`, speaking)
  if (spoken.length === 1) return first
  // The later has the more particular marks.
  const recognised = spoken.findLast((dialect) => dialect.rest?.recognises(rest))
  if (recognised) return recognised
  const recorded = route.taskId === undefined ? undefined : await recall({ taskId: route.taskId })
  // A call that tells nothing is taken for one of the proto, as most are.
  const proto = spoken.find(({ bindings }) => bindings.includes('GRPC'))
  return spoken.find(({ name }) => name === recorded) ?? proto ?? first
}

function isOf({ version, rest }: ServerDialect, asked: string): boolean {
  return version === asked || rest?.olderVersion === asked
}

/** A path of 1.0 is none of an older dialect. The other way round, `/v1` may be a tenant or part of an address. */
export function requirePath(dialect: ServerDialect, route: Route): void {
  if (route.isLegacy || isAt(dialect, route)) return
  throw new A2AError('method-not-found', `In A2A ${dialect.version} all paths begin with /v1: this one is of A2A 1.0.`)
}

/** Before 1.0 the version is in the path. */
export function isAt({ version }: ServerDialect, { isLegacy }: Route): boolean {
  return version.startsWith('0.') === isLegacy
}
