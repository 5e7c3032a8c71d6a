import { readFile, writeFile } from 'node:fs/promises'

/** The result of one program of a peer. */
export interface ProgramResult {
  readonly peer: string
  readonly version: string
  readonly role: 'client' | 'server'
  readonly transport: string
  readonly checks: readonly CheckResult[]
  /** Why it was not run. */
  readonly notRun?: string
}

export interface CheckResult {
  readonly check: string
  readonly ok: boolean
  readonly detail?: string
}

const start = '<!-- results: written by `npm run interop` -->'
const end = '<!-- end of results -->'

const roles = { client: 'its client calls a Parley agent', server: "Parley's client calls its agent" } as const

/** Replaces the results in the Markdown page. */
export async function writeReport(page: string, results: readonly ProgramResult[], date: string): Promise<void> {
  const text = await readFile(page, 'utf8')
  const [before, after] = [text.indexOf(start), text.indexOf(end)]
  if (before < 0 || after < 0) throw new Error(`${page}: expected the lines ${start} and ${end}`)
  const body = [start, '', ...tableOf(results, date), '', ...failuresIn(results), end].join('\n')
  await writeFile(page, text.slice(0, before) + body + text.slice(after + end.length))
}

function tableOf(results: readonly ProgramResult[], date: string): readonly string[] {
  const rows = results.map(({ peer, version, role, transport, checks, notRun }) => {
    const passed = checks.filter(({ ok }) => ok).map(({ check }) => check)
    const outcome = notRun ? `*not run*: ${notRun}` : `${passed.length} of ${checks.length}: ${passed.join(', ')}`
    return `| ${peer} | ${version} | ${roles[role]} | ${transport} | ${outcome} |`
  })
  return [
    `Run on ${date}.`,
    '',
    '| peer | version | direction | transport | passed |',
    '|---|---|---|---|---|',
    ...rows,
  ]
}

function failuresIn(results: readonly ProgramResult[]): readonly string[] {
  const lines = results.flatMap(({ peer, role, transport, checks }) =>
    checks.flatMap(({ check, ok, detail = '' }) =>
      ok ? [] : [`- ${peer}, ${roles[role]}, ${transport}, *${check}*: ${oneLine(detail)}`],
    ),
  )
  return lines.length > 0 ? ['What did not pass:', '', ...lines, ''] : []
}

function oneLine(text: string): string {
  const neutral = text
    .replace(/(https?:\/\/)?127\.0\.0\.1:\d+/g, 'the agent')
    .replace(/\s+/g, ' ')
    .trim()
  return `\`${neutral.replaceAll('`', "'").slice(0, 240)}\``
}
