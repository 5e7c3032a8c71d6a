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

export interface ReportOptions {
  readonly date: string
  /** The names of all peers, in the order of the table. */
  readonly peers: readonly string[]
}

/** Replaces the results of the peers that were run in the Markdown page, and keeps the others. */
export async function writeReport(
  page: string,
  results: readonly ProgramResult[],
  { date, peers }: ReportOptions,
): Promise<void> {
  const text = await readFile(page, 'utf8')
  const [before, after] = [text.indexOf(start), text.indexOf(end)]
  if (before < 0 || after < 0) throw new Error(`${page}: expected the lines ${start} and ${end}`)
  const lines = text.slice(before, after).split('\n')
  const isRun = new Set(results.map(({ peer }) => peer))
  const ofPeers = (prefix: string, separator: string, current: readonly string[]) => {
    const peerOf = (line: string) => line.slice(prefix.length).split(separator, 1)[0] ?? ''
    const kept = lines.filter((line) => line.startsWith(prefix) && !isRun.has(peerOf(line)))
    const all = [...kept, ...current]
    return peers.flatMap((peer) => all.filter((line) => peerOf(line) === peer))
  }
  const rows = ofPeers('| ', ' |', rowsOf(results, date))
  const failures = ofPeers('- ', ',', failuresIn(results))
  const head = ['| peer | version | direction | transport | date | passed |', '|---|---|---|---|---|---|']
  const list = failures.length > 0 ? ['What did not pass:', '', ...failures, ''] : []
  const body = [start, '', ...head, ...rows, '', ...list, end].join('\n')
  await writeFile(page, text.slice(0, before) + body + text.slice(after + end.length))
}

function rowsOf(results: readonly ProgramResult[], date: string): readonly string[] {
  return results.map(({ peer, version, role, transport, checks, notRun }) => {
    const passed = checks.filter(({ ok }) => ok).map(({ check }) => check)
    const outcome = notRun ? `*not run*: ${notRun}` : `${passed.length} of ${checks.length}: ${passed.join(', ')}`
    return `| ${peer} | ${version} | ${roles[role]} | ${transport} | ${date} | ${outcome} |`
  })
}

function failuresIn(results: readonly ProgramResult[]): readonly string[] {
  return results.flatMap(({ peer, role, transport, checks }) =>
    checks.flatMap(({ check, ok, detail = '' }) =>
      ok ? [] : [`- ${peer}, ${roles[role]}, ${transport}, *${check}*: ${oneLine(detail)}`],
    ),
  )
}

function oneLine(text: string): string {
  const neutral = text
    .replace(/(https?:\/\/)?127\.0\.0\.1:\d+/g, 'the agent')
    .replace(/\s+/g, ' ')
    .trim()
  return `\`${neutral.replaceAll('`', "'").slice(0, 240)}\``
}
