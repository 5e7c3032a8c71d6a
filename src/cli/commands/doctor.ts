import type { JsonObject } from '../../base/json.ts'
import { readPeerCard } from '../../dialects/peer-card.ts'
import { connect, createCardCache } from '../../entries/client.ts'
import { A2AError } from '../../protocol/errors.ts'
import { createFetch, credentialsOf, openGrpc, requireReference, resolveTarget } from '../agent.ts'
import { readAgentReference } from '../agent-reference.ts'
import { agentOptions, type Command, type Context } from '../command.ts'
import { checkCard, claimsOf, requiresCredentials } from '../doctor/check-card.ts'
import type { ProbeOptions } from '../doctor/interface-calls.ts'
import { lossesOf } from '../doctor/losses.ts'
import { probeInterface } from '../doctor/probe-interface.ts'
import { probeCors, probeFormerCard, probeTls, probeUnknownVersion } from '../doctor/probe-network.ts'
import { probeSend } from '../doctor/probe-send.ts'
import { createRecorder, failureOf, type Recorder } from '../doctor/recorder.ts'
import { printReport } from '../doctor/render.ts'
import { countOf, type DoctorObserver, type Finding, type InterfaceReport, type Report } from '../doctor/report.ts'
import { toFailure } from '../errors.ts'
import { validateCard, verifySignature } from './card.ts'

/** Every interface is probed in its own version, so the options that choose one do not apply. */
const choices = ['transport', 'a2a-version', 'legacy', 'extension', 'svc-param']
const connectionOptions = Object.fromEntries(Object.entries(agentOptions).filter(([name]) => !choices.includes(name)))

export const doctor: Command = {
  description:
    'Compares what the card of an agent claims with what the agent does, and says what to change. Every interface of the card is probed, in its own version, with calls that change nothing: tasks and webhooks that do not exist, a list of one task, preflight requests. With --send, one real message is sent as well, which also shows proxies that hold streams back. The exit code is 0 without errors, 1 with errors, and 3 if there is no card.',
  positionals: [{ name: 'agent', summary: 'The agent, as --agent-card.', optional: true, complete: 'agent' }],
  options: {
    ...connectionOptions,
    send: { type: 'text', value: 'text', summary: 'Also send this message, which starts real work.', onlyFlag: true },
    'fail-on': {
      type: 'text',
      value: 'severity',
      summary: 'The least severity that makes the exit code 1.',
      choices: ['error', 'warning', 'info'],
      default: 'error',
    },
    jwks: {
      type: 'text',
      value: 'url|file',
      summary: 'Keys to verify the signatures of the card with.',
      complete: 'file',
    },
  },
  examples: [
    { line: 'parley doctor agent.example.com', summary: 'Find out why an agent does not work' },
    { line: 'parley doctor agent.example.com --send hello', summary: 'Send a real message as well' },
    { line: 'parley doctor agent.example.com -o json --fail-on warning', summary: 'Check an agent in CI' },
  ],
  async run(context) {
    const { output, settings } = context
    const recorder = createRecorder(output)
    const { report, exitCode } = await diagnose(context, recorder)
    printReport(report, output)
    const threshold = settings.text('fail-on') ?? 'error'
    const isBad =
      countOf(report, 'error') > 0 ||
      (threshold !== 'error' && countOf(report, 'warning') > 0) ||
      (threshold === 'info' && countOf(report, 'info') > 0)
    process.exitCode = exitCode ?? (isBad ? 1 : 0)
  },
}

interface Diagnosis {
  readonly report: Report
  /** Set if there is no card. */
  readonly exitCode?: number
}

/** Probes the agent of a context, and returns what it finds. */
export async function diagnose(context: Context, recorder: Recorder, observer?: DoctorObserver): Promise<Diagnosis> {
  const { output, signal, settings } = context
  const reference = requireReference(context)
  const parsed = readAgentReference(reference)
  const fetch = recorder.record(createFetch(context, parsed))
  const empty = { reference, interfaces: [], losses: [] }
  const findings: Finding[] = []
  const add = (found: readonly Finding[]) => {
    findings.push(...found)
    for (const finding of found) observer?.onFinding(finding)
  }
  output.note(`Fetching the card of ${reference}.`)
  const done = output.progress('Probing the agent…')
  observer?.onProbe({ title: 'the card', done: 0 })
  try {
    const found = await findCard(context, fetch)
    if (found instanceof A2AError) {
      const evidence = recorder.since(0).slice(-4)
      const { hint, exitCode } = toFailure(found)
      const cause = found.reason === 'certificate' ? ` (${failureOf(found)})` : ''
      const problem = `${found.message}${cause}`
      const finding: Finding = {
        ...{ severity: 'error', id: found.reason ?? found.code, subject: reference, problem, evidence },
        ...(hint !== undefined && { fix: hint }),
      }
      add([finding])
      return { exitCode, report: { ...empty, findings, requests: recorder.count() } }
    }
    const { wire, cardUrl } = found
    const cardEvidence = recorder.since(0)
    const { card } = await readPeerCard(wire)
    add(
      checkCard({
        ...{ wire, card, cardUrl, evidence: cardEvidence },
        violations: await validateCard(wire),
        signature: await verifySignature(wire, context),
      }),
    )
    const grpc = card.interfaces.some(({ binding }) => /grpc/i.test(binding))
      ? await openGrpc(context, reference)
      : undefined
    const options: ProbeOptions = {
      ...{ card, cardUrl, recorder, fetch, signal },
      grpc: grpc && { ...grpc, fetch: recorder.record(grpc.fetch) },
      providers: credentialsOf(context, reference, []),
    }
    announce(context, card.interfaces.length)
    // The card, its interfaces, and the network.
    const total = card.interfaces.length + 2
    const interfaces: InterfaceReport[] = []
    for (const each of card.interfaces) {
      const begin = (what = '') =>
        observer?.onProbe({
          title: `${each.binding} ${each.protocolVersion}${what}`,
          done: interfaces.length + 1,
          total,
        })
      const before = findings.length
      begin()
      const probe = await probeInterface(each, options)
      add(probe.findings)
      // Interfaces of several versions share an address; one preflight request is enough.
      const isNew = !interfaces.some(({ url, cors }) => url === each.url && cors !== undefined)
      const needsCors = probe.report.works && isNew && each.binding !== 'GRPC'
      if (needsCors) begin(', requests of browsers')
      const cors = needsCors ? await probeCors(each, requiresCredentials(card), options) : { findings: [] }
      add(cors.findings)
      if (probe.report.works) {
        begin(', an unknown version')
        add(await probeUnknownVersion(each, options))
      }
      const report = { ...probe.report, ...('cors' in cors && { cors: cors.cors }) }
      interfaces.push(report)
      observer?.onInterface(report, findings.slice(before))
    }
    observer?.onProbe({ title: 'the network', done: total - 1, total })
    // An old version of TLS may be the reason why an interface does not work. Private addresses are left alone.
    const isGuarded = (url: string) => findings.some(({ id, subject }) => id === 'guarded' && subject.endsWith(url))
    const urls = [cardUrl ?? '', ...interfaces.map(({ url }) => url).filter((url) => !isGuarded(url))]
    const origins = new Set(urls.filter((url) => /^https:/.test(url)).map((url) => new URL(url).origin))
    for (const origin of origins) add(await probeTls(origin, signal))
    const versions = [...new Set(card.interfaces.map(({ protocolVersion }) => protocolVersion.slice(0, 3)))]
    const isOld = versions.some((version) => version === '0.1' || version === '0.2')
    if (isOld && cardUrl !== undefined) add(await probeFormerCard(cardUrl, options))
    const text = settings.text('send')
    const working = card.interfaces.find((_, index) => interfaces[index]?.works)
    if (text !== undefined && working) add(await probeSend(working, text, options))
    return {
      report: {
        ...{ reference, name: card.name, claims: claimsOf(card), interfaces, findings, requests: recorder.count() },
        ...(cardUrl !== undefined && { cardUrl }),
        losses: lossesOf(versions.toSorted().at(-1) ?? ''),
      },
    }
  } finally {
    done()
  }
}

function announce({ output, settings }: Context, interfaces: number): void {
  output.note(
    `To ${interfaces === 1 ? 'its interface' : `each of its ${interfaces} interfaces`}, doctor sends: get, subscribe and webhook of a task that does not exist, a list of one task, the extended card if it claims one, OPTIONS, and a get in a version that does not exist. If an interface fails, it tries other paths of the host. All of them change nothing.`,
  )
  const text = settings.text('send')
  output.note(text === undefined ? 'No message is sent (see --send).' : `Then it sends the message "${text}".`)
}

interface FoundCard {
  readonly wire: JsonObject
  /** Undefined for a card in a file or in a catalog. */
  readonly cardUrl: string | undefined
}

/** Searches the card as clients do. Returns the error if there is none. */
async function findCard(context: Context, fetch: ReturnType<Recorder['record']>): Promise<FoundCard | A2AError> {
  const { signal } = context
  const reference = requireReference(context)
  const providers = credentialsOf(context, reference, [])
  let wire: JsonObject | undefined
  let cardUrl: string | undefined
  try {
    const target = await resolveTarget(readAgentReference(reference), fetch, signal)
    await connect(target, {
      async fetch(url, init) {
        const response = await fetch(url, init)
        cardUrl = url
        return response
      },
      signal,
      retry: { tries: 1 },
      cardCache: createCardCache(1),
      ...(providers.length > 0 && { auth: providers }),
      verifyCard(received) {
        wire = received
      },
    })
  } catch (error) {
    if (wire === undefined && error instanceof A2AError && error.reason !== 'aborted') return error
    if (wire === undefined) throw error
  }
  return { wire: wire ?? {}, cardUrl }
}
