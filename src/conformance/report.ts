import { defined, type JsonObject } from '../core/base/json.ts'
import type { Subject, Version } from './interface.ts'
import type { Level } from './rule.ts'

/** The outcome of a check. `not measured` means that the agent lacks the feature, or gave no occasion. */
export type Outcome = 'passed' | 'failed' | 'not measured'

/** A request and its answer, shortened. */
export interface Evidence {
  readonly request: string
  readonly answer: string
}

/** The result of one rule on one interface. */
export interface Check {
  readonly rule: string
  readonly version: Version
  readonly binding: Subject
  readonly level: Level
  readonly title: string
  readonly sends: string
  readonly expects: string
  readonly outcome: Outcome
  /** The violation, or the reason why the rule was not measured. */
  readonly problem?: string
  /** What is worth knowing about a rule that passed. */
  readonly note?: string
  readonly evidence?: Evidence
}

/** The number of checks by outcome. */
export type Counts = Readonly<Record<Outcome, number>>

/** How an agent was judged. */
export interface ConformanceReport {
  readonly agent: string
  readonly url: string
  readonly checks: readonly Check[]
  /** Whether no MUST failed. Rules that were not measured do not count, unless the agent required credentials. */
  readonly isConformant: boolean
  /** Whether interfaces were not measured, because the agent required credentials or refused those of the suite. */
  readonly needsCredentials: boolean
  /** One line, such as `A2A 1.0: 98/98 MUST, 20/21 SHOULD, 1/1 MAY, 4 not measured`. */
  readonly summary: string
  counts(level: Level, version?: Version, binding?: Subject): Counts
  failed(level?: Level): readonly Check[]
  /** The report as a JSON document. */
  toJSON(): JsonObject
  /** The report as JUnit XML. */
  toJUnit(): string
}

const levels: readonly Level[] = ['MUST', 'SHOULD', 'MAY']

export interface ReportSubject {
  readonly agent: string
  readonly url: string
  readonly needsCredentials: boolean
}

export function toReport({ agent, url, needsCredentials }: ReportSubject, checks: readonly Check[]): ConformanceReport {
  const versions = [...new Set(checks.map(({ version }) => version))]
  const failed = (level?: Level) =>
    checks.filter((check) => check.outcome === 'failed' && (level === undefined || check.level === level))
  const counts: ConformanceReport['counts'] = (level, version, binding) => {
    const own = checks.filter(
      (check) =>
        check.level === level &&
        (version === undefined || check.version === version) &&
        (binding === undefined || check.binding === binding),
    )
    const count = (outcome: Outcome) => own.filter((check) => check.outcome === outcome).length
    return { passed: count('passed'), failed: count('failed'), 'not measured': count('not measured') }
  }
  const isConformant = failed('MUST').length === 0 && !needsCredentials
  const summary = summaryOf(
    versions,
    levels.map((level) => [level, counts(level)] as const),
  )
  return {
    agent,
    url,
    checks,
    isConformant,
    needsCredentials,
    summary,
    counts,
    failed,
    toJSON: () => ({
      agent,
      url,
      isConformant,
      needsCredentials,
      summary,
      // The form that shields.io reads.
      badge: {
        schemaVersion: 1,
        label: `A2A ${versions.join(', ')}`,
        message: summary.slice(summary.indexOf(': ') + 2),
        color: isConformant ? 'brightgreen' : needsCredentials ? 'lightgrey' : 'red',
      },
      counts: Object.fromEntries(levels.map((level) => [level, { ...counts(level) }])),
      checks: checks.map(({ evidence, ...check }) => ({
        ...check,
        ...defined({ evidence: evidence && { ...evidence } }),
      })),
    }),
    toJUnit: () => toJUnit(url, checks),
  }
}

function summaryOf(versions: readonly Version[], counts: readonly (readonly [Level, Counts])[]): string {
  const parts = counts.map(([level, { passed, failed }]) => `${passed}/${passed + failed} ${level}`)
  const open = counts.reduce((sum, [, { 'not measured': number }]) => sum + number, 0)
  return `A2A ${versions.join(', ')}: ${parts.join(', ')}, ${open} not measured`
}

function toJUnit(url: string, checks: readonly Check[]): string {
  const suites = Map.groupBy(checks, ({ version, binding }) => `A2A ${version} ${binding}`)
  const lines = [...suites].flatMap(([name, own]) => {
    const count = (outcome: Outcome) => own.filter((check) => check.outcome === outcome).length
    const attributes = `tests="${own.length}" failures="${count('failed')}" skipped="${count('not measured')}"`
    return [
      `  <testsuite name="${escapeXml(name)}" ${attributes}>`,
      ...own.map((check) => testCase(name, check)),
      '  </testsuite>',
    ]
  })
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites name="${escapeXml(url)}">`,
    ...lines,
    '</testsuites>',
  ].join('\n')
}

function testCase(suite: string, { rule, level, title, outcome, problem = '', evidence }: Check): string {
  const head = `    <testcase classname="${escapeXml(suite)}" name="${escapeXml(`${level} ${rule}: ${title}`)}"`
  if (outcome === 'passed') return `${head}/>`
  if (outcome === 'not measured') return `${head}><skipped message="${escapeXml(problem)}"/></testcase>`
  const text = evidence ? `${evidence.request}\n${evidence.answer}` : ''
  return `${head}><failure type="${level}" message="${escapeXml(problem)}">${escapeXml(text)}</failure></testcase>`
}

/** Characters that XML does not allow are replaced. */
function escapeXml(text: string): string {
  const marks: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }
  return text.replace(/[&<>"]/g, (mark) => marks[mark] ?? mark).replace(forbidden, '\ufffd')
}

const forbidden = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu
