import {
  bySeverity,
  countOf,
  type Finding,
  type InterfaceReport,
  type RecordedExchange,
  type Report,
  type Severity,
} from '../../conformance/doctor/report.ts'
import type { Json } from '../../core/base/json.ts'
import type { Format, Output } from '../output.ts'

/** Characters of a body that the text form shows; `-o json` has more. */
const maxExcerpt = 160

/** Exchanges per finding that the text form shows. */
const maxEvidence = 3

export function printReport(report: Report, output: Output): void {
  if (output.mode === 'json') return void output.document(toDocument(report))
  const { field, print } = output
  if (report.name !== undefined) field('Agent', report.name)
  if (report.cardUrl !== undefined) field('Card', report.cardUrl)
  for (const each of report.interfaces) field('Interface', describeInterface(each))
  if (report.findings.length > 0) print('')
  for (const finding of bySeverity(report.findings)) printFinding(finding, output)
  if (report.losses.length > 0) field('Lost compared to 1.0', lossTable(report))
  field('Errors', `${countOf(report, 'error')}`)
  field('Warnings', `${countOf(report, 'warning')}`)
  field('Requests sent', `${report.requests}`)
}

function toDocument(report: Report): Json {
  const { findings } = report
  const summary = {
    errors: countOf(report, 'error'),
    warnings: countOf(report, 'warning'),
    infos: countOf(report, 'info'),
  }
  return JSON.parse(JSON.stringify({ ...report, findings: bySeverity(findings), summary }))
}

const labels: Readonly<Record<Severity, string>> = { error: 'Error', warning: 'Warning', info: 'Info' }
const colors: Readonly<Record<Severity, Format>> = { error: 'red', warning: 'yellow', info: 'cyan' }

function printFinding({ severity, id, subject, problem, fix, evidence }: Finding, output: Output): void {
  const { style } = output
  output.field(style(labels[severity], colors[severity]), `${problem} [${id}]`)
  output.field('Where', subject)
  for (const exchange of evidence.slice(-maxEvidence)) output.field('Evidence', describeExchange(exchange))
  if (fix !== undefined) output.field('Fix', fix)
  output.print('')
}

function describeInterface(report: InterfaceReport): string {
  const { binding, version, url, works, authentication, tenant } = report
  const features = (['streaming', 'push', 'list', 'cors'] as const)
    .filter((name) => report[name] !== undefined)
    .map((name) => `${name} ${report[name] ? 'yes' : 'no'}`)
  const auth = authentication === undefined ? [] : [`credentials ${authentication}`]
  const facts = [works ? 'works' : 'does not work', ...auth, ...features]
  return `${binding} ${version} ${url}${tenant === undefined ? '' : ` tenant=${tenant}`} (${facts.join(', ')})`
}

function describeExchange({ request, response, failure }: RecordedExchange): string {
  const { method, url, body } = request
  const call = `${method} ${url}${body === undefined ? '' : ` ${excerptOf(body)}`}`
  if (!response) return `${call} → ${failure}`
  const type = response.headers['content-type']?.split(';')[0] ?? 'no content type'
  return `${call} → ${response.status}, ${type}${response.body === '' ? '' : `, ${excerptOf(response.body)}`}`
}

function excerptOf(text: string): string {
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > maxExcerpt ? `${line.slice(0, maxExcerpt)}…` : line
}

function lossTable({ losses }: Report): string {
  const width = Math.max(...losses.map(({ feature }) => feature.length))
  return losses.map(({ version, feature, effect }) => `${version}  ${feature.padEnd(width)}  ${effect}`).join('\n')
}
