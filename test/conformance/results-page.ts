import { writeFileSync } from 'node:fs'
import type { Check, ConformanceReport } from '../../src/conformance/report.ts'
import { rules } from '../../src/conformance/rules.ts'

const page = new URL('../../docs/reference/conformance-results.md', import.meta.url)
const levels = ['MUST', 'SHOULD', 'MAY'] as const

/** Writes docs/reference/conformance-results.md from the reports of several agents, by their names. */
export function writeResultsPage(reports: ReadonlyMap<string, ConformanceReport>): void {
  const rows = [...reports].map(([name, report]) => {
    const open = report.checks.filter(({ outcome }) => outcome === 'not measured').length
    const cells = [name, interfacesOf(report), ...levels.map((level) => ratioOf(report, level)), `${open}`]
    return `| ${cells.join(' | ')} |`
  })
  const text = `# Conformance results

[\`parley conformance\`](conformance.md) judged these agents on ${new Date().toISOString().slice(0, 10)} by its ${rules.length} rules. Each
rule is applied to every version and binding that it is about. The agents do the same work: they answer with a message, complete a task,
ask a question, and run until they are canceled.

| agent | judged in | MUST | SHOULD | MAY | not measured |
|---|---|--:|--:|--:|--:|
${rows.join('\n')}

A rule is not measured if the agent gives no occasion for it: a signed card, credentials, a required extension, or a feature that its card
does not declare.

To repeat it: \`npm run conformance\`. It starts the agents, judges them and writes this page. To judge your own agent:
\`npx parley-a2a conformance https://agent.example.com\`.

## Broken rules

${[...reports].map(([name, report]) => `### ${name}\n\n${brokenRules(report)}\n`).join('\n')}`
  writeFileSync(page, text)
}

function ratioOf({ checks }: ConformanceReport, level: Check['level']): string {
  const measured = checks.filter((check) => check.level === level && check.outcome !== 'not measured')
  return `${measured.filter(({ outcome }) => outcome === 'passed').length}/${measured.length}`
}

function interfacesOf({ checks }: ConformanceReport): string {
  const bindings = new Map<string, Set<string>>()
  for (const { version, binding } of checks) {
    if (binding !== 'CARD') bindings.set(version, (bindings.get(version) ?? new Set()).add(binding))
  }
  return [...bindings].map(([version, names]) => `${version} (${[...names].join(', ')})`).join(', ')
}

function brokenRules(report: ConformanceReport): string {
  const rows = levels.flatMap((level) => report.failed(level).filter((check) => check.level === level))
  if (rows.length === 0) return 'None.'
  const lines = rows.map(
    ({ rule, level, version, binding, title }) => `| \`${rule}\` | ${level} | ${version} ${binding} | ${title} |`,
  )
  return ['| rule | level | interface | |', '|---|---|---|---|', ...lines].join('\n')
}
