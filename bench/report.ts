import { median } from './measure.ts'

/** One thing that the bench finds out. */
export interface Question {
  readonly name: string
  ask(): Promise<Answer>
}

export interface Answer {
  readonly title: string
  readonly verdicts: readonly Verdict[]
  /** What the verdicts come from: numbers of this machine at this hour. */
  readonly details: readonly Readonly<Record<string, string | number>>[]
  readonly notes?: readonly string[]
}

export interface Verdict {
  readonly what: string
  /** One of each round. */
  readonly values: readonly number[]
  readonly unit: 'x' | 'MB' | 'KB' | ''
  /** There is none for what is only told. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number } | { readonly below: number }
}

export function isMet({ values, target }: Verdict): boolean {
  if (!target) return true
  const value = median(values)
  if ('atLeast' in target) return value >= target.atLeast
  return 'atMost' in target ? value <= target.atMost : value < target.below
}

export function printAnswer({ title, verdicts, details, notes = [] }: Answer): void {
  console.log(`\n## ${title}\n`)
  console.table(details)
  console.table(verdicts.map((verdict) => Object.fromEntries(columns.map((name, at) => [name, cells(verdict)[at]]))))
  for (const note of notes) console.log(note)
}

/** The part of the answers that holds on other machines too. */
export function toMarkdown(answers: readonly Answer[]): string {
  const tables = answers.map(({ title, verdicts, notes = [] }) =>
    [
      `## ${title}\n`,
      row(columns),
      row(columns.map((_, at) => (at === 0 ? '---' : '--:'))),
      ...verdicts.map((verdict) => row(cells(verdict))),
      ...notes.map((note) => `\n${note}`),
    ].join('\n'),
  )
  const measured = `Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, loopback. Medians of interleaved rounds; in brackets the lowest and the highest round. By \`npm run bench\`.`
  return `# Measured\n\n${measured}\n\n${tables.join('\n\n')}\n`
}

const columns = ['what', 'measured', 'target', 'result']

function cells(verdict: Verdict): readonly string[] {
  const { what, values, unit, target } = verdict
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const range = values.length > 1 ? ` (${format(low)}–${format(high)})` : ''
  const result = target ? (isMet(verdict) ? 'ok' : 'MISSED') : ''
  return [what, `${format(median(values))}${unitText(unit)}${range}`, target ? targetText(target, unit) : '', result]
}

function targetText(target: NonNullable<Verdict['target']>, unit: Verdict['unit']): string {
  if ('atLeast' in target) return `≥ ${target.atLeast}${unitText(unit)}`
  return 'atMost' in target ? `≤ ${target.atMost}${unitText(unit)}` : `< ${target.below}${unitText(unit)}`
}

function unitText(unit: Verdict['unit']): string {
  return unit === 'x' || unit === '' ? unit : ` ${unit}`
}

/** Three digits are more than such measurements are worth. */
function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

function row(texts: readonly string[]): string {
  return `| ${texts.join(' | ')} |`
}
