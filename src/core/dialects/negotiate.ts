import { closest } from '../base/closest.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Operation, TaskAddress } from '../protocol/service.ts'
import { excerpt } from '../schema/schema.ts'
import type { CallFeatures, ServerDialect } from './dialect.ts'

const majorMinor = /^\d\.\d$/

/**
 * How a request without a version is read: `strict` reads it as 0.3 (A2A 1.0 §3.6.2); `infer` reads it in the dialect
 * that has its method, since 0.3 and 1.0 share no method name.
 */
export type MissingVersion = 'infer' | 'strict'

/** The dialects of an endpoint. */
export interface DialectSet {
  /** The first one is used for errors if no dialect matches; of several that match equally, the earlier is used. */
  readonly dialects: readonly [ServerDialect, ...ServerDialect[]]
  /** Defaults to `infer`. */
  readonly missingVersion?: MissingVersion
}

/** Chooses the dialect of a call: by version, then method, then form, then the dialect of the caller's last call. */
export type Negotiate = (features: CallFeatures, recall: RecallDialect) => ServerDialect | Promise<ServerDialect>

/** Creates the negotiation of an endpoint. */
export function createNegotiation(dialectSet: DialectSet): Negotiate {
  /** Candidates by version and method: there are few of both, and every request looks them up. */
  const cache = new Map<string, readonly ServerDialect[]>()

  function candidatesFor(method: string, version: string | undefined): readonly ServerDialect[] {
    const key = `${version} ${method}`
    const cached = cache.get(key)
    if (cached) return cached
    const candidates = dialectsWithMethod(method, version, dialectSet)
    // Unknown methods are not cached: callers could invent any number of them.
    if (candidates.length > 0) cache.set(key, candidates)
    return candidates
  }

  return (features, recall) => {
    const version = claimedVersion(features.version, dialectSet)
    const candidates = candidatesFor(features.method, version)
    const [preferred = dialectLike(features.method, version, dialectSet)] = candidates
    if (candidates.length < 2) return preferred
    const recognised = candidates.find((dialect) => dialect.recognises?.(features))
    return recognised ?? previousDialect(features, candidates, preferred, recall)
  }
}

/** The operation of a call in its dialect. Throws `method-not-found` with advice if there is none. */
export function operationOf(dialect: ServerDialect, features: CallFeatures, { dialects }: DialectSet): Operation {
  const operation = dialect.operationFor?.(features) ?? dialect.operations.get(features.method)
  if (operation === undefined) throw methodNotFound(dialect, features.method, dialects)
  return operation
}

/** Reads Major.Minor from an `A2A-Version`, ignoring the patch version. An empty text counts as absent. */
export function parseVersion(text: string | undefined): string | undefined {
  if (!text) return undefined
  if (majorMinor.test(text)) return text
  const trimmed = text.trim()
  if (!trimmed) return undefined
  const [, major, minor = '0'] = /^(\d{1,4})(?:\.(\d{1,4}))?(?:\.\d{1,4})?$/.exec(trimmed) ?? []
  // A malformed version is returned as well, to be rejected as an unsupported one.
  return major === undefined ? excerpt(trimmed) : `${major}.${minor}`
}

/** The version that a call claims, or that `missingVersion` assumes. */
export function claimedVersion(
  version: string | undefined,
  { missingVersion = 'infer' }: Pick<DialectSet, 'missingVersion'>,
): string | undefined {
  return version ?? (missingVersion === 'strict' ? '0.3' : undefined)
}

export function versionNotSupported(problem: string, { dialects }: DialectSet): A2AError {
  const versions = [...new Set(dialects.map(({ version }) => version))].join(', ')
  return new A2AError('version-not-supported', `${problem}. Supported: ${versions}, named in the header A2A-Version.`, {
    metadata: { supportedVersions: versions },
  })
}

/** Returns the name of the dialect in which the caller last wrote to a task. */
type RecallDialect = (address: TaskAddress) => Promise<string | undefined>

function dialectsWithMethod(
  method: string,
  version: string | undefined,
  dialectSet: DialectSet,
): readonly ServerDialect[] {
  const matching = dialectsOfVersion(version, dialectSet).filter((dialect) => dialect.operations.has(method))
  const implied = version === undefined ? matching.filter(({ mustBeNamed }) => !mustBeNamed) : matching
  return implied.length > 0 ? implied : matching
}

function dialectsOfVersion(version: string | undefined, { dialects }: DialectSet): readonly ServerDialect[] {
  return dialects.filter(
    (dialect) => dialect.bindings.includes('JSONRPC') && (version === undefined || dialect.version === version),
  )
}

/** The dialect whose methods look most like an unknown one, so that the error is one that the caller reads. */
function dialectLike(method: string, version: string | undefined, dialectSet: DialectSet): ServerDialect {
  const dialects = dialectsOfVersion(version, dialectSet)
  const [first] = dialects
  if (!first) throw versionNotSupported(`A2A ${version} is not supported here`, dialectSet)
  const similar = closest(method, dialects.flatMap(methodNames)) ?? ''
  const hasSlashes = (dialect: ServerDialect) => methodNames(dialect).some((name) => name.includes('/'))
  return (
    dialects.find((dialect) => methodNames(dialect).includes(similar)) ??
    (method.includes('/') ? dialects.find(hasSlashes) : undefined) ??
    first
  )
}

function methodNames({ methods }: ServerDialect): readonly string[] {
  return Object.values(methods)
}

async function previousDialect(
  features: CallFeatures,
  candidates: readonly ServerDialect[],
  preferred: ServerDialect,
  recall: RecallDialect,
): Promise<ServerDialect> {
  const previous = await recallFor(features, preferred, recall)
  return candidates.find(({ name }) => name === previous) ?? preferred
}

/** Some calls about a task are identical in several dialects, but their answers differ. */
async function recallFor({ method, params }: CallFeatures, dialect: ServerDialect, recall: RecallDialect) {
  const operation = dialect.operations.get(method)
  if (operation !== 'getTask' && operation !== 'cancelTask' && operation !== 'subscribeToTask') return undefined
  const taskId = (params as { readonly id?: unknown } | null | undefined)?.id
  return typeof taskId === 'string' ? await recall({ taskId, isAlias: true }) : undefined
}

function methodNotFound(dialect: ServerDialect, method: string, all: readonly ServerDialect[]): A2AError {
  const problem = `There is no method ${excerpt(method)} in A2A ${dialect.version}`
  const names = methodNames(dialect).join(', ')
  return new A2AError('method-not-found', `${problem}${adviceFor(dialect, method, all)} There are ${names}.`)
}

function adviceFor(dialect: ServerDialect, method: string, all: readonly ServerDialect[]): string {
  const other = all.find(({ operations }) => operations.has(method))
  const equivalent = dialect.methods[other?.operations.get(method) ?? 'sendMessage']
  if (other) return `; it is one of A2A ${other.version}${equivalent ? `, and here it is ${equivalent}` : ''}.`
  const similar = closest(method, methodNames(dialect))
  return similar === undefined ? '.' : `; did you mean ${similar}?`
}
