import { closest } from '../base/closest.ts'
import { A2AError } from '../protocol/errors.ts'
import type { Operation, TaskAddress } from '../protocol/service.ts'
import { excerpt } from '../schema/schema.ts'
import type { CallFeatures, ServerDialect } from './dialect.ts'

/** By what is spoken, and then by version and method: there are few of both, and every request asks. */
const known = new WeakMap<DialectSet['dialects'], Map<string, readonly ServerDialect[]>>()

const plainVersion = /^\d\.\d$/

/**
 * What a request without a version is: `strict` takes it for 0.3, as A2A 1.0 §3.6.2 says; `infer` takes it for the
 * dialect that has its method, since the methods of 0.3 and 1.0 have no name in common.
 */
export type MissingVersion = 'infer' | 'strict'

/** What a door speaks. */
export interface DialectSet {
  /** The first is for callers with whom none could be agreed on; of several that fit equally, the earlier is taken. */
  readonly dialects: readonly [ServerDialect, ...ServerDialect[]]
  /** `infer` by default. */
  readonly missingVersion?: MissingVersion
}

/** The dialect of a call: by its version, its method, its form, what the caller spoke before, in this order. */
export function negotiate(
  proposal: CallFeatures,
  speaking: DialectSet,
  recall: Recall,
): ServerDialect | Promise<ServerDialect> {
  const asked = claimedVersion(proposal.version, speaking)
  const able = ableTo(proposal.method, asked, speaking)
  const [best = preferredOf(asked, speaking)] = able
  if (able.length < 2) return best
  const recognised = able.find((dialect) => dialect.recognises?.(proposal))
  return recognised ?? remembered(proposal, able, best, recall)
}

export function operationOf(dialect: ServerDialect, proposal: CallFeatures, { dialects }: DialectSet): Operation {
  const operation = dialect.operationFor?.(proposal) ?? dialect.operations.get(proposal.method)
  if (operation === undefined) throw methodNotFound(dialect, proposal.method, dialects)
  return operation
}

/** The Major.Minor of an `A2A-Version`, whose patch never counts. Empty is as good as absent. */
export function parseVersion(text: string | undefined): string | undefined {
  if (!text) return undefined
  if (plainVersion.test(text)) return text
  const given = text.trim()
  if (!given) return undefined
  const [, major, minor = '0'] = /^(\d{1,4})(?:\.(\d{1,4}))?(?:\.\d{1,4})?$/.exec(given) ?? []
  // No version at all is refused like one that is not spoken.
  return major === undefined ? excerpt(given) : `${major}.${minor}`
}

/** The version that a call claims to be of. */
export function claimedVersion(
  version: string | undefined,
  { missingVersion = 'infer' }: DialectSet,
): string | undefined {
  return version ?? (missingVersion === 'strict' ? '0.3' : undefined)
}

export function versionNotSupported(problem: string, { dialects }: DialectSet): A2AError {
  const versions = [...new Set(dialects.map(({ version }) => version))].join(', ')
  return new A2AError('version-not-supported', `${problem}. Supported: ${versions}, named in the header A2A-Version.`, {
    metadata: { supportedVersions: versions },
  })
}

type Recall = (address: TaskAddress) => Promise<string | undefined>

/** Those of this version that have the method. */
function ableTo(method: string, asked: string | undefined, speaking: DialectSet): readonly ServerDialect[] {
  const { dialects } = speaking
  const answers = known.get(dialects) ?? new Map<string, readonly ServerDialect[]>()
  known.set(dialects, answers)
  const question = `${asked} ${method}`
  const answer = answers.get(question)
  if (answer) return answer
  const able = spokenOf(asked, speaking).filter((dialect) => dialect.operations.has(method))
  // Methods that nobody has are without number.
  if (able.length > 0) answers.set(question, able)
  return able
}

function spokenOf(asked: string | undefined, { dialects }: DialectSet): readonly ServerDialect[] {
  return dialects.filter(
    (dialect) => dialect.bindings.includes('JSONRPC') && (asked === undefined || dialect.version === asked),
  )
}

function preferredOf(asked: string | undefined, speaking: DialectSet): ServerDialect {
  const [preferred] = spokenOf(asked, speaking)
  if (!preferred) throw versionNotSupported(`A2A ${asked} is not spoken here`, speaking)
  return preferred
}

async function remembered(
  proposal: CallFeatures,
  able: readonly ServerDialect[],
  best: ServerDialect,
  recall: Recall,
): Promise<ServerDialect> {
  const recorded = await recordedFor(proposal, best, recall)
  return able.find(({ name }) => name === recorded) ?? best
}

/** Some calls about a task look the same in several dialects and are answered differently. */
async function recordedFor({ method, params }: CallFeatures, dialect: ServerDialect, recall: Recall) {
  const operation = dialect.operations.get(method)
  if (operation !== 'getTask' && operation !== 'cancelTask' && operation !== 'subscribeToTask') return undefined
  const taskId = (params as { readonly id?: unknown } | null | undefined)?.id
  return typeof taskId === 'string' ? await recall({ taskId, isAlias: true }) : undefined
}

function methodNotFound(dialect: ServerDialect, method: string, all: readonly ServerDialect[]): A2AError {
  const problem = `There is no method ${excerpt(method)} in A2A ${dialect.version}`
  return new A2AError('method-not-found', `${problem}${adviceFor(dialect, method, all)}`)
}

function adviceFor({ methods }: ServerDialect, method: string, all: readonly ServerDialect[]): string {
  const other = all.find(({ operations }) => operations.has(method))
  const meant = methods[other?.operations.get(method) ?? 'sendMessage']
  if (other) return `; it is one of A2A ${other.version}${meant ? `, and here it is ${meant}` : ''}.`
  const names = Object.values(methods)
  const near = closest(method, names)
  return near === undefined ? `. There are ${names.join(', ')}.` : `; did you mean ${near}?`
}
