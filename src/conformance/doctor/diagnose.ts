import { defined, type JsonObject } from '../../core/base/json.ts'
import { connect } from '../../core/client/connect.ts'
import { createCardCache } from '../../core/client/find-card.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import { readPeerCard } from '../../core/dialects/peer-card.ts'
import type { AgentCard } from '../../core/protocol/card.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { probeFirstVersion } from '../first-version.ts'
import { certificateFaultOf, certificateRemedy } from './certificates.ts'
import { checkCard, claimsOf, requiresCredentials } from './check-card.ts'
import { verifySignature } from './check-signature.ts'
import type { ProbeOptions } from './interface-calls.ts'
import { lossesOf } from './losses.ts'
import { probeInterface } from './probe-interface.ts'
import {
  type InspectTls,
  probeCors,
  probeFormerCard,
  probeTls,
  probeUnknownVersion,
  tlsAddress,
} from './probe-network.ts'
import { probeSend } from './probe-send.ts'
import { createRecorder, failureOf } from './recorder.ts'
import type { DoctorObserver, Finding, InterfaceReport, Report } from './report.ts'
import { validateCard } from './validate-card.ts'

type Fetch = NonNullable<ConnectOptions['fetch']>
type Transport = Exclude<NonNullable<ConnectOptions['bindings']>[number], string>

/** Options of `diagnose`. */
export interface DiagnoseOptions {
  /** The address of the agent. */
  readonly url: string
  /** The card, or where to search it. Defaults to `url`. */
  readonly target?: (fetch: Fetch) => Promise<string | JsonObject>
  readonly fetch: Fetch
  readonly signal: AbortSignal
  readonly credentials?: NonNullable<ConnectOptions['auth']>
  readonly observer?: DoctorObserver | undefined
  /** Opens gRPC, if the card names it. Without it, gRPC interfaces are not probed. */
  readonly openGrpc?: () => Promise<Transport>
  /** Without it, certificates and versions of TLS are not judged. */
  readonly inspectTls?: InspectTls
  /** The result of the signatures of the card. Defaults to a check with the keys on the origin of `url`. */
  readonly verifySignature?: (wire: JsonObject) => Promise<string>
  /** A message to send, which starts real work. */
  readonly send?: string | undefined
  /** The remedy for an agent without a readable card. Defaults to the hint of the error. */
  readonly remedyFor?: (error: A2AError) => string | undefined
  /** Removes credentials from the evidence. */
  readonly redact?: (text: string) => string
  /** Called before the interfaces are probed. */
  readonly onCard?: (card: AgentCard) => void
}

export interface Diagnosis {
  readonly report: Report
  /** Why there is no card, if there is none. */
  readonly failure?: A2AError
}

/** Compares what the card of an agent claims with what the agent does. */
export async function diagnose(options: DiagnoseOptions): Promise<Diagnosis> {
  const { url: reference, signal, observer, send, inspectTls } = options
  const recorder = createRecorder(options.redact)
  const fetch = recorder.record(options.fetch)
  const findings: Finding[] = []
  const add = (found: readonly Finding[]) => {
    findings.push(...found)
    for (const finding of found) observer?.onFinding(finding)
  }
  observer?.onProbe({ title: 'the card', done: 0 })
  const found = await findCard(options, fetch)
  if (found instanceof A2AError) {
    const evidence = recorder.since(0).slice(-4)
    const general = options.remedyFor ? options.remedyFor(found) : found.hint
    const fix = found.reason === 'certificate' ? await certificateFix(found, options) : general
    const cause = found.reason === 'certificate' ? ` (${failureOf(found)})` : ''
    const problem = `${found.message}${cause}`
    add([defined({ severity: 'error', id: found.reason ?? found.code, subject: reference, problem, fix, evidence })])
    return {
      failure: found,
      report: { reference, interfaces: [], losses: [], findings, requests: recorder.count() },
    }
  }
  const { wire, cardUrl } = found
  const cardEvidence = recorder.since(0)
  const { violations, readable } = await validateCard(wire)
  const { card: claimed, isUnreadable } = await readCard(wire, readable)
  const protocolVersion = await probeFirstVersion(readable, { fetch, signal })
  const interfaces = claimed.interfaces.map((each) => (protocolVersion ? { ...each, protocolVersion } : each))
  const card: AgentCard = { ...claimed, interfaces }
  const signature = await (options.verifySignature?.(wire) ?? verifySignature(wire, { origin: originOf(reference) }))
  add(checkCard({ wire, card, cardUrl, evidence: cardEvidence, violations, isUnreadable, signature }))
  const namesGrpc = card.interfaces.some(({ binding }) => /grpc/i.test(binding))
  const grpc = namesGrpc ? await options.openGrpc?.() : undefined
  const probeOptions: ProbeOptions = {
    card,
    cardUrl,
    recorder,
    fetch,
    signal,
    grpc: grpc && { ...grpc, fetch: recorder.record(grpc.fetch) },
    providers: options.credentials ?? [],
  }
  options.onCard?.(card)
  // The card, its interfaces, and the network.
  const total = card.interfaces.length + 2
  const reports: InterfaceReport[] = []
  for (const each of card.interfaces) {
    const begin = (what = '') =>
      observer?.onProbe({ title: `${each.binding} ${each.protocolVersion}${what}`, done: reports.length + 1, total })
    const before = findings.length
    begin()
    const probe = await probeInterface(each, probeOptions)
    add(probe.findings)
    // Interfaces of several versions share an address; one preflight request is enough.
    const isNew = !reports.some(({ url, cors }) => url === each.url && cors !== undefined)
    const needsCors = probe.report.works && isNew && each.binding !== 'GRPC'
    if (needsCors) begin(', requests of browsers')
    const cors = needsCors ? await probeCors(each, requiresCredentials(card), probeOptions) : { findings: [] }
    add(cors.findings)
    if (probe.report.works) {
      begin(', an unknown version')
      add(await probeUnknownVersion(each, probeOptions))
    }
    const report = { ...probe.report, ...defined({ cors: 'cors' in cors ? cors.cors : undefined }) }
    reports.push(report)
    observer?.onInterface(report, findings.slice(before))
  }
  observer?.onProbe({ title: 'the network', done: total - 1, total })
  if (inspectTls) {
    // An old version of TLS may be the reason why an interface does not work. Private addresses are left alone.
    const isGuarded = (url: string) => findings.some(({ id, subject }) => id === 'guarded' && subject.endsWith(url))
    const urls = [cardUrl ?? '', ...reports.map(({ url }) => url).filter((url) => !isGuarded(url))]
    const origins = new Set(urls.filter((url) => /^https:/.test(url)).map((url) => new URL(url).origin))
    for (const origin of origins) add(await probeTls(origin, inspectTls, signal))
  }
  const versions = [...new Set(card.interfaces.map(({ protocolVersion }) => protocolVersion.slice(0, 3)))]
  const isOld = versions.some((version) => version === '0.1' || version === '0.2')
  if (isOld && cardUrl !== undefined) add(await probeFormerCard(cardUrl, probeOptions))
  const working = card.interfaces.find((_, index) => reports[index]?.works)
  if (send !== undefined && working) add(await probeSend(working, send, probeOptions))
  return {
    report: defined({
      reference,
      cardUrl,
      name: card.name || undefined,
      claims: claimsOf(card),
      interfaces: reports,
      findings,
      requests: recorder.count(),
      losses: lossesOf(versions.toSorted().at(-1) ?? ''),
    }),
  }
}

interface FoundCard {
  readonly wire: JsonObject
  /** Undefined for a card in a file or in a catalog. */
  readonly cardUrl: string | undefined
}

/** Searches the card as clients do. Returns the error if there is none. */
async function findCard(
  { url, target, credentials = [], signal }: DiagnoseOptions,
  fetch: Fetch,
): Promise<FoundCard | A2AError> {
  let wire: JsonObject | undefined
  let cardUrl: string | undefined
  try {
    await connect(target ? await target(fetch) : url, {
      async fetch(address, init) {
        const response = await fetch(address, init)
        cardUrl = address
        return response
      },
      signal,
      retry: { tries: 1 },
      cardCache: createCardCache(1),
      ...defined({ auth: credentials.length > 0 ? credentials : undefined }),
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

/** A card that no client can read is read without its broken members, so that the rest of the agent can be examined. */
async function readCard(wire: JsonObject, readable: JsonObject) {
  const read = (card: JsonObject) => readPeerCard(card).catch(() => undefined)
  const original = await read(wire)
  const { card = nameless } = original ?? (await read(readable)) ?? {}
  return { card, isUnreadable: original === undefined }
}

/** Stands for a card that names no interface. */
const nameless: AgentCard = {
  name: '',
  description: '',
  version: '',
  interfaces: [],
  capabilities: {},
  skills: [],
  defaultInputModes: [],
  defaultOutputModes: [],
}

/** A certificate of an unknown authority may have expired as well, which its end shows. */
async function certificateFix(failure: A2AError, { inspectTls, signal }: DiagnoseOptions): Promise<string> {
  const url = failure.url === undefined || !URL.canParse(failure.url) ? undefined : new URL(failure.url)
  const session = url && (await inspectTls?.(...tlsAddress(url), signal))
  const hasEnded = session !== undefined && Date.parse(session.validTo) < Date.now()
  return certificateRemedy(hasEnded ? 'expired' : certificateFaultOf(failure))
}

function originOf(url: string): string | undefined {
  return /^https?:/.test(url) ? new URL(url).origin : undefined
}
