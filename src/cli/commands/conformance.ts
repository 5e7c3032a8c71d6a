import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import { currentVersion } from '../../core/dialects/versions.ts'
import type { Check, ConformanceReport, conformance } from '../../entries/testing.ts'
import { createFetch, fetchCard, openGrpc, requireReference, transportName } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { usageError } from '../errors.ts'
import { type Output, wrapLine } from '../output.ts'

/** Rules that are named beside the reason why they were not measured. */
const maxNames = 12

type ConformanceOptions = NonNullable<Parameters<typeof conformance>[1]>
type Version = NonNullable<ConformanceOptions['versions']>[number]
type Binding = NonNullable<ConformanceOptions['bindings']>[number]

export const conformanceCommand: Command = {
  description:
    'Judges an agent by the rules of A2A, in every binding that its card declares. It sends real messages: the texts of these options, or the examples of the skills. A rule that cannot be measured does not count as passed. The exit code is 1 if the agent breaks a MUST.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.', optional: true, complete: 'agent' }],
  options: {
    ...agentOptions,
    output: {
      type: 'text',
      short: 'o',
      value: 'text|json|junit',
      summary: 'Output as a table, as JSON, or as JUnit XML.',
      choices: ['text', 'json', 'junit'],
      default: 'text',
    },
    'task-text': { type: 'text', value: 'text', summary: 'A message whose task completes.' },
    'message-text': { type: 'text', value: 'text', summary: 'A message that is answered without a task.' },
    'input-required-text': { type: 'text', value: 'text', summary: 'A message after which the task waits for input.' },
    'long-running-text': { type: 'text', value: 'text', summary: 'A message whose task works until it is canceled.' },
    'no-probe': { type: 'flag', summary: 'Do not send the examples of the skills to find missing texts.' },
    'other-bearer': {
      type: 'text',
      value: 'token',
      secret: true,
      summary: 'Bearer token of a second caller, who must not see the tasks of the first.',
    },
    through: {
      type: 'text',
      value: 'url',
      summary: 'Judge the gateway at this URL by the proxy profile. Needs --origin.',
    },
    origin: { type: 'text', value: 'url', summary: 'The agent behind the gateway of --through.' },
    rule: { type: 'text', value: 'id', multiple: true, summary: 'Check only this rule. Repeat it for several.' },
  },
  examples: [
    { line: 'parley conformance https://agent.example.com', summary: 'Judge an agent by the rules of A2A 1.0' },
    { line: 'parley conformance https://agent.example.com --legacy', summary: 'Judge it in all versions' },
    {
      line: 'parley conformance --through https://gateway.example.com/old --origin https://old-agent.example',
      summary: 'Judge a gateway by the proxy profile',
    },
    {
      line: 'parley conformance localhost:4000 --long-running-text wait -o junit > conformance.xml',
      summary: 'Report to a test runner',
    },
  ],
  async run(context) {
    const { settings, output } = context
    const [through, origin] = [settings.text('through'), settings.text('origin')]
    if ((through === undefined) !== (origin === undefined)) {
      throw usageError('--through and --origin belong together: the gateway, and the agent behind it.')
    }
    const reference = readAgentReference(through ?? requireReference(context))
    if (reference.type !== 'url') throw usageError('conformance needs the URL of an agent that runs.')
    const { conformance, proxyConformance } = await import('../../entries/testing.ts')
    const subject = origin === undefined ? 'the agent' : 'the gateway'
    let progress = `Checking ${subject}…`
    const endProgress = output.progress(() => progress)
    const receiver = isLoopback(reference.url) ? await openReceiver() : undefined
    const options: ConformanceOptions = defined({
      ...(await optionsOf(context, through ?? requireReference(context))),
      webhooks: receiver,
      onCheck({ rule, version, binding }: Check, { done, total }: { done: number; total: number }) {
        progress = `Checking ${subject}: ${done} of ${total}, ${version} ${binding} ${rule}…`
      },
    })
    const judged =
      origin === undefined ? conformance(reference.url, options) : proxyConformance(reference.url, origin, options)
    const report = await judged
      .catch((error) => {
        throw error instanceof TypeError
          ? usageError(error.message, 'See the rules in docs/reference/conformance.md.')
          : error
      })
      .finally(() => {
        endProgress()
        receiver?.close()
      })
    const format = settings.text('output')
    if (format === 'json') output.document(report.toJSON())
    else if (format === 'junit') output.print(report.toJUnit())
    else printReport(report, output)
    if (!report.isConformant) process.exitCode = 1
    if (!report.needsCredentials) return
    process.exitCode = 4
    output.warn(
      'The agent requires credentials, so its interfaces were not measured. Pass them by A2ACLI_BEARER or A2ACLI_API_KEY.',
    )
  },
}

async function openReceiver() {
  return await (await import('../webhook-receiver.ts')).openWebhookReceiver()
}

/** Agents on other machines cannot reach a receiver on this one. */
function isLoopback(url: string): boolean {
  return /^(localhost|127\..*|\[::1\])$/.test(new URL(url).hostname)
}

async function optionsOf(context: Context, agent: string): Promise<ConformanceOptions> {
  const { settings, signal } = context
  const [version, rules, other] = [settings.text('a2a-version'), settings.list('rule'), settings.text('other-bearer')]
  const bindings = settings.list('transport').map((name) => transportName(name) as Binding)
  const mayUseGrpc = bindings.length === 0 || bindings.includes('GRPC')
  const texts = {
    task: settings.text('task-text'),
    message: settings.text('message-text'),
    inputRequired: settings.text('input-required-text'),
    longRunning: settings.text('long-running-text'),
  }
  return defined({
    fetch: createFetch(context, readAgentReference(agent)),
    grpc: mayUseGrpc ? await openGrpc(context, agent) : undefined,
    signal,
    headers: await credentialHeaders(context),
    otherHeaders: other === undefined ? undefined : { authorization: `Bearer ${other}` },
    probe: !settings.flag('no-probe'),
    texts: defined(texts),
    bindings: bindings.length > 0 ? bindings : undefined,
    rules: rules.length > 0 ? rules : undefined,
    versions: settings.flag('legacy') || version === 'auto' ? undefined : [(version ?? currentVersion) as Version],
  })
}

/** The suite sends every byte itself, so credentials must fit into a header. */
async function credentialHeaders(context: Context): Promise<Record<string, string>> {
  const { settings } = context
  const [token, key] = [settings.text('bearer'), settings.text('api-key')]
  const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` }
  if (key === undefined) return headers
  const { securitySchemes } = (await fetchCard(context)).wire
  const name = isObject(securitySchemes) ? headerOf(securitySchemes) : undefined
  if (name === undefined) throw usageError('--api-key: the card declares no API key that is sent in a header.')
  return { ...headers, [name.toLowerCase()]: key }
}

function headerOf(schemes: JsonObject): string | undefined {
  for (const scheme of Object.values(schemes).filter(isObject)) {
    const declared = isObject(scheme.apiKeySecurityScheme) ? scheme.apiKeySecurityScheme : scheme
    const place = declared.location ?? declared.in
    if (place === 'header' && typeof declared.name === 'string') return declared.name
  }
  return undefined
}

/** The table first, then what to do: each broken rule and each reason why rules were not measured, once. */
function printReport(report: ConformanceReport, output: Output): void {
  const { checks, summary, isConformant, needsCredentials, agent, url } = report
  output.field('Agent', agent)
  output.field('URL', url)
  output.print('')
  output.print(tableRow(['Version', 'Binding', 'MUST', 'SHOULD', 'MAY', 'Not measured']))
  for (const [name, own] of Map.groupBy(checks, ({ version, binding }) => `${version} ${binding}`)) {
    const cell = (level: Check['level']) => {
      const judged = own.filter((check) => check.level === level && check.outcome !== 'not measured')
      return `${judged.filter(({ outcome }) => outcome === 'passed').length}/${judged.length}`
    }
    const open = own.filter(({ outcome }) => outcome === 'not measured').length
    output.print(tableRow([...name.split(' '), cell('MUST'), cell('SHOULD'), cell('MAY'), `${open}`]))
  }
  output.print('')
  output.field('Conformant', needsCredentials ? 'not measured' : isConformant ? 'yes' : 'no')
  output.field('Summary', summary)
  const failed = checks.filter(({ outcome }) => outcome === 'failed')
  printSection(
    'Broken rules',
    failed.flatMap((check) => checkLines(check, output)),
    output,
  )
  if (output.isVerbose) {
    const passed = checks.filter(({ outcome }) => outcome === 'passed')
    printSection(
      'Kept rules',
      passed.map((check) => checkLine(check, output)),
      output,
    )
  }
  const notes = checks.flatMap(({ note, version, binding }) =>
    note === undefined ? [] : [{ text: note, about: `${version} ${binding}` }],
  )
  printSection('Notes', grouped(notes), output)
  const open = checks.flatMap(({ outcome, problem = '', rule }) =>
    outcome === 'not measured' ? [{ text: problem, about: rule }] : [],
  )
  printSection('Not measured', grouped(open), output)
}

function printSection(title: string, lines: readonly string[], output: Output): void {
  if (lines.length === 0) return
  output.print('')
  output.print(output.style(`${title}:`, 'bold'))
  for (const line of lines) output.print(wrapLine(line, process.stdout, 5))
}

/** Each text once, with what it is about. */
function grouped(items: readonly { readonly text: string; readonly about: string }[]): readonly string[] {
  return [...Map.groupBy(items, ({ text }) => text)].map(([text, own]) => {
    const names = [...new Set(own.map(({ about }) => about))]
    return `- ${text} ${names.length > maxNames ? `${names.length} rules` : names.join(', ')}`
  })
}

function checkLines(check: Check, output: Output): readonly string[] {
  const { evidence } = check
  const line = checkLine(check, output)
  return evidence && output.isVerbose
    ? [line, `         > ${evidence.request}`, `         < ${evidence.answer}`]
    : [line]
}

function checkLine({ outcome, level, version, binding, rule, title, problem }: Check, { style }: Output): string {
  const mark = outcome === 'failed' ? style('FAIL', 'red') : style('pass', 'green')
  const text = problem === undefined ? title : `${title} ${problem}`
  return `${mark} ${level.padEnd(6)} ${version} ${binding.padEnd(9)} ${rule}: ${text}`
}

function tableRow(cells: readonly string[]): string {
  const widths = [9, 11, 9, 9, 9, 0]
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('')
    .trimEnd()
}
