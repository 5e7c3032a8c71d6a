import { median } from './measure.ts'

export interface Benchmark {
  readonly name: string
  run(): Promise<BenchmarkResult>
}

export interface BenchmarkResult {
  readonly title: string
  readonly comparisons: readonly Comparison[]
  /** Absolute numbers behind the comparisons; they hold only for this machine. */
  readonly details: readonly Readonly<Record<string, string | number>>[]
  readonly notes?: readonly string[]
}

export interface Comparison {
  readonly label: string
  /** One value per round. */
  readonly values: readonly number[]
  readonly unit: 'x' | 'MB' | 'KB' | ''
  /** Missing for values that are only reported. */
  readonly target?: { readonly atLeast: number } | { readonly atMost: number } | { readonly below: number }
}

export function isMet({ values, target }: Comparison): boolean {
  if (!target) return true
  const value = median(values)
  if ('atLeast' in target) return value >= target.atLeast
  return 'atMost' in target ? value <= target.atMost : value < target.below
}

export function printResult({ title, comparisons, details, notes = [] }: BenchmarkResult): void {
  console.log(`\n## ${title}\n`)
  console.table(details)
  console.table(
    comparisons.map((comparison) => Object.fromEntries(columns.map((name, index) => [name, cells(comparison)[index]]))),
  )
  for (const note of notes) console.log(note)
}

/** Renders the comparisons, which hold on other machines as well. */
export function toMarkdown(results: readonly BenchmarkResult[]): string {
  const tables = results.map(({ title, comparisons, notes = [] }) =>
    [
      `## ${title}\n`,
      row(columns),
      row(columns.map((_, index) => (index === 0 ? '---' : '--:'))),
      ...comparisons.map((comparison) => row(cells(comparison))),
      ...notes.map((note) => `\n${note}`),
    ].join('\n'),
  )
  const introduction = `Node ${process.version}, ${new Date().toISOString().slice(0, 10)}, loopback. Medians of interleaved rounds, with the lowest and the highest round in parentheses. Created by \`npm run bench\`, which repeats all of them; \`npm run bench -- blocking-send grpc\` repeats some.`
  return `# Benchmark results\n\n${introduction}\n\n${tables.join('\n\n')}\n`
}

const columns = ['comparison', 'measured', 'target', 'result']

function cells(comparison: Comparison): readonly string[] {
  const { label, values, unit, target } = comparison
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const range = values.length > 1 ? ` (${format(low)}–${format(high)})` : ''
  const result = target ? (isMet(comparison) ? 'ok' : 'MISSED') : ''
  return [label, `${format(median(values))}${unitText(unit)}${range}`, target ? targetText(target, unit) : '', result]
}

function targetText(target: NonNullable<Comparison['target']>, unit: Comparison['unit']): string {
  if ('atLeast' in target) return `≥ ${target.atLeast}${unitText(unit)}`
  return 'atMost' in target ? `≤ ${target.atMost}${unitText(unit)}` : `< ${target.below}${unitText(unit)}`
}

function unitText(unit: Comparison['unit']): string {
  return unit === 'x' || unit === '' ? unit : ` ${unit}`
}

/** More than three digits would suggest a precision that such measurements do not have. */
function format(value: number): string {
  return value >= 100 ? String(Math.round(value)) : String(Number(value.toPrecision(3)))
}

function row(texts: readonly string[]): string {
  return `| ${texts.join(' | ')} |`
}
