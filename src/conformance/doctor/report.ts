import { defined, type JsonObject } from '../../core/base/json.ts'

/**
 * How much a finding matters: callers fail (`error`), some callers fail or something is at risk (`warning`), or it is
 * worth knowing (`info`).
 */
export type Severity = 'error' | 'warning' | 'info'

/** A request that doctor sent, with its answer. Credentials are redacted. */
export interface RecordedExchange {
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: string
  }
  /** Undefined if there was no response. */
  readonly response?: {
    readonly status: number
    readonly headers: Readonly<Record<string, string>>
    /** The start of the body. */
    readonly body: string
    readonly milliseconds: number
  }
  /** Why there was no response. */
  readonly failure?: string
}

export interface Finding {
  readonly severity: Severity
  /** A constant for programs. */
  readonly id: string
  /** The interface or URL that it is about. */
  readonly subject: string
  readonly problem: string
  /** What to change. */
  readonly fix?: string
  readonly evidence: readonly RecordedExchange[]
}

/** Adds a finding about an interface, with the last exchanges as its evidence. */
export type AddFinding = (severity: Severity, id: string, problem: string, fix?: string) => void

/** Collects the findings about one interface. */
export function collectFindings(
  {
    binding,
    protocolVersion,
    url,
  }: { readonly binding: string; readonly protocolVersion: string; readonly url: string },
  evidence: () => readonly RecordedExchange[],
) {
  const findings: Finding[] = []
  const subject = `${binding} ${protocolVersion} ${url}`
  const add: AddFinding = (severity, id, problem, fix) =>
    void findings.push(defined({ severity, id, subject, problem, fix: fix || undefined, evidence: evidence() }))
  return { findings, subject, add }
}

/** What an interface of the card does. Undefined members were not measured. */
export interface InterfaceReport {
  readonly url: string
  readonly binding: string
  readonly version: string
  readonly tenant?: string
  readonly works: boolean
  readonly authentication?: 'required' | 'not required'
  readonly streaming?: boolean
  readonly push?: boolean
  readonly list?: boolean
  readonly cors?: boolean
}

/** A feature of 1.0 that a version lacks. */
export interface Loss {
  readonly version: string
  readonly feature: string
  readonly effect: string
}

export interface Report {
  readonly reference: string
  readonly cardUrl?: string
  readonly name?: string
  readonly claims?: JsonObject
  readonly interfaces: readonly InterfaceReport[]
  readonly findings: readonly Finding[]
  readonly losses: readonly Loss[]
  /** How many requests were sent. */
  readonly requests: number
}

/** Follows a diagnosis while it runs. */
export interface DoctorObserver {
  /** A probe begins. `done` counts the probes before it, and `total` all of them, once the card is read. */
  onProbe(probe: { readonly title: string; readonly done: number; readonly total?: number }): void
  onFinding(finding: Finding): void
  /** An interface was probed. */
  onInterface(report: InterfaceReport, findings: readonly Finding[]): void
}

const severities: readonly Severity[] = ['error', 'warning', 'info']

export function countOf({ findings }: Report, severity: Severity): number {
  return findings.filter((finding) => finding.severity === severity).length
}

/** The worst findings first; otherwise in the order of the probes. */
export function bySeverity(findings: readonly Finding[]): readonly Finding[] {
  return findings.toSorted((one, other) => severities.indexOf(one.severity) - severities.indexOf(other.severity))
}
