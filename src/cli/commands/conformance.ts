import { defined, isObject, type JsonObject } from '../../core/base/json.ts'
import { currentVersion } from '../../core/dialects/versions.ts'
import type { Check, ConformanceReport, conformance } from '../../entries/testing.ts'
import { createFetch, fetchCard, openGrpc, requireReference, transportName } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { usageError } from '../errors.ts'
import { type Output, wrapLine } from '../output.ts'

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
    const endProgress = output.progress(origin === undefined ? 'Checking the agent' : 'Checking the gateway')
    const options = await optionsOf(context, through ?? requireReference(context))
    const judged =
      origin === undefined ? conformance(reference.url, options) : proxyConformance(reference.url, origin, options)
    const report = await judged
      .catch((error) => {
        throw error instanceof TypeError
          ? usageError(error.message, 'See the rules in docs/reference/conformance.md.')
          : error
      })
      .finally(endProgress)
    const format = settings.text('output')
    if (format === 'json') output.document(report.toJSON())
    else if (format === 'junit') output.print(report.toJUnit())
    else printReport(report, output)
    if (!report.isConformant) process.exitCode = 1
  },
}

async function optionsOf(context: Context, agent: string): Promise<ConformanceOptions> {
  const { settings, signal } = context
  const [version, rules] = [settings.text('a2a-version'), settings.list('rule')]
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
    probe: !settings.flag('no-probe'),
    texts: defined(texts),
    bindings: bindings.length > 0 ? bindings : undefined,
    rules: rules.length > 0 ? rules : undefined,
    versions: settings.flag('legacy') ? undefined : [(version ?? currentVersion) as Version],
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

function printReport(report: ConformanceReport, output: Output): void {
  const { checks, summary, isConformant, agent, url } = report
  output.field('Agent', agent)
  output.field('URL', url)
  for (const check of checks) {
    if (check.outcome !== 'passed' || output.isVerbose) {
      output.print(wrapLine(checkLine(check, output), process.stdout, 5))
    }
    if (check.outcome === 'failed' && check.evidence && output.isVerbose) {
      output.print(`         > ${check.evidence.request}\n         < ${check.evidence.answer}`)
    }
  }
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
  output.field('Conformant', isConformant ? 'yes' : 'no')
  output.field('Summary', summary)
}

function checkLine({ outcome, level, version, binding, rule, title, problem }: Check, { style }: Output): string {
  const mark = { passed: style('pass', 'green'), failed: style('FAIL', 'red'), 'not measured': style('open', 'yellow') }
  const text = problem === undefined ? title : `${title} ${problem}`
  return `${mark[outcome]} ${level.padEnd(6)} ${version} ${binding.padEnd(9)} ${rule}: ${text}`
}

function tableRow(cells: readonly string[]): string {
  const widths = [9, 11, 9, 9, 9, 0]
  return cells
    .map((cell, index) => cell.padEnd(widths[index] ?? 0))
    .join('')
    .trimEnd()
}
