import { A2AError } from '../protocol/errors.ts'
import type { Operation } from '../protocol/service.ts'
import { closest } from './closest.ts'
import type { ServerDialect } from './dialect.ts'
import { olderMethods } from './older-methods.ts'
import { v1_0 } from './v1.0/index.ts'
import { excerpt } from './violation.ts'

/** Every version of A2A that is spoken here, the newest first. */
const served: readonly ServerDialect[] = [v1_0]

/** What is spoken to a caller with whom no dialect could be agreed on. */
export const newest: ServerDialect = v1_0

/**
 * What a request without a version is: `strict` takes it for 0.3, as A2A 1.0 §3.6.2 says; `infer` takes it for the
 * dialect that has its method, since the methods of 0.3 and 1.0 have no name in common.
 */
export type MissingVersion = 'infer' | 'strict'

export interface Proposal {
  /** Major.Minor. */
  readonly version: string | undefined
  readonly method: string
  readonly missingVersion: MissingVersion
}

export function negotiate({ version, method, missingVersion }: Proposal): ServerDialect {
  if (version !== undefined) {
    const dialect = served.find((each) => each.version === version)
    if (dialect === undefined) throw versionNotSupported(`A2A ${version} is not spoken here`)
    return dialect
  }
  if (missingVersion === 'strict') {
    throw versionNotSupported('A request without A2A-Version is one of A2A 0.3, which is not spoken here')
  }
  const older = olderMethods.get(method)
  if (older !== undefined) {
    throw versionNotSupported(`${method} is a method of A2A ${older.versions}, which is not spoken here`)
  }
  return served.find((dialect) => dialect.operations.has(method)) ?? newest
}

export function operationOf(dialect: ServerDialect, method: string): Operation {
  const operation = dialect.operations.get(method)
  if (operation === undefined) throw methodNotFound(dialect, method)
  return operation
}

/** The Major.Minor of an `A2A-Version`, whose patch never counts. Empty is as good as absent. */
export function parseVersion(text: string | undefined): string | undefined {
  const given = text?.trim()
  if (!given) return undefined
  const [, major, minor = '0'] = /^(\d{1,4})(?:\.(\d{1,4}))?(?:\.\d{1,4})?$/.exec(given) ?? []
  if (major === undefined) throw versionNotSupported(`${excerpt(given)} is not a version of A2A`)
  return `${major}.${minor}`
}

function versionNotSupported(problem: string): A2AError {
  const versions = served.map(({ version }) => version).join(', ')
  return new A2AError('version-not-supported', `${problem}. Supported: ${versions}, named in the header A2A-Version.`, {
    metadata: { supportedVersions: versions },
  })
}

function methodNotFound(dialect: ServerDialect, method: string): A2AError {
  const problem = `There is no method ${excerpt(method)} in A2A ${dialect.version}`
  return new A2AError('method-not-found', `${problem}${adviceFor(dialect, method)}`)
}

function adviceFor({ methods }: ServerDialect, method: string): string {
  const older = olderMethods.get(method)
  if (older !== undefined) return `; it is one of A2A ${older.versions}. Here it is ${methods[older.operation]}.`
  const names = Object.values(methods)
  const near = closest(method, names)
  return near === undefined ? `. There are ${names.join(', ')}.` : `; did you mean ${near}?`
}
