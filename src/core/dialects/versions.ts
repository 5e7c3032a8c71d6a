/** The dialects of released versions, as options name them. Servers speak them by default. */
export const releasedDialects = ['v0.1', 'v0.2', 'v0.3', 'v0.3-house', 'v0.3-proto', 'v1.0'] as const

/** All dialects, with those of versions that are not released. */
export const dialectNames = [...releasedDialects, 'v1.1'] as const

export type DialectName = (typeof dialectNames)[number]

/** The protocol versions, the newest first. */
export const protocolVersions = ['1.1', '1.0', '0.3', '0.2', '0.1'] as const

export type ProtocolVersion = (typeof protocolVersions)[number]

/** The version that tools speak unless their user chooses another one. */
export const currentVersion: ProtocolVersion = '1.0'

/** The dialects in which a client speaks each version. */
export const dialectsOfVersion: Readonly<Record<ProtocolVersion, readonly [DialectName, ...DialectName[]]>> = {
  '1.1': ['v1.1'],
  '1.0': ['v1.0'],
  '0.3': ['v0.3', 'v0.3-proto'],
  '0.2': ['v0.2'],
  '0.1': ['v0.1'],
}

/** Whether a version, as a card names it, is older than 1.0. */
export function isLegacyVersion(version: string): boolean {
  return /^0\./.test(version)
}

/** The forms in which tools show a task: dialects without their `v`, and what users call them. */
export const taskForms = [
  { id: '1.0', label: 'A2A 1.0' },
  { id: '1.1', label: 'A2A 1.1 (draft)' },
  { id: '0.3', label: 'A2A 0.3' },
  { id: '0.3-house', label: '0.3 house profile' },
  { id: '0.2', label: 'A2A 0.2' },
  { id: '0.1', label: 'A2A 0.1' },
] as const

export type TaskForm = (typeof taskForms)[number]['id']

/** These dialects, with those that they are over gRPC: 0.3 has its proto there. */
export function withGrpcDialects(names: readonly DialectName[]): readonly DialectName[] {
  return names.includes('v0.3') && !names.includes('v0.3-proto') ? [...names, 'v0.3-proto'] : names
}
