import { defined } from '../core/base/json.ts'
import {
  aFunction,
  checkOptions,
  flag,
  group,
  having,
  listOf,
  milliseconds,
  type OptionChecks,
  oneOf,
  recordOf,
  text,
} from '../core/base/options.ts'
import { withScheme } from '../core/client/find-card.ts'
import { protocolVersions } from '../core/dialects/versions.ts'
import type { Fetch } from '../core/http/fetch.ts'
import { A2AError } from '../core/protocol/errors.ts'
import { type CleaningWire, cleaningUp } from './clean-up.ts'
import { type CardRequest, type Declared, findCards, requestCard } from './find-cards.ts'
import { type Binding, type Interface, isCurrent, requiredExtensions, type Subject, type Version } from './interface.ts'
import { type Check, type ConformanceReport, type Evidence, toReport } from './report.ts'
import { appliesTo, type Rule } from './rule.ts'
import { rules } from './rules.ts'
import { type ConformanceSession, createSession, probeTexts, type Texts, type WebhookReceiver } from './session.ts'
import { NotMeasured, RuleViolation } from './verdict.ts'
import { createWire, type Wire, type WireExchange, type WireOptions } from './wire.ts'

/** The longest request or answer in the evidence of a failed check, in characters. */
const maxEvidence = 2_000

/** Options of `conformance`. */
export interface ConformanceOptions {
  /** Protocol versions to judge. Defaults to all that the card declares. */
  readonly versions?: readonly Version[]
  /** Bindings to judge. Defaults to all that the card declares. */
  readonly bindings?: readonly Binding[]
  /** The ids of the rules to check, such as `send/terminal-task`. Defaults to all. */
  readonly rules?: readonly string[]
  /** Headers of every request, such as credentials. */
  readonly headers?: Readonly<Record<string, string>>
  /** Texts that make the agent behave as a check needs it. Texts that are missing are looked for by probing. */
  readonly texts?: Texts
  /** Whether to send the examples of the skills in order to find missing texts. Defaults to true. */
  readonly probe?: boolean
  /** Milliseconds that one request may take. Defaults to 10,000. */
  readonly timeout?: number
  readonly fetch?: Fetch
  /** Calls gRPC: `grpc()` of `parley-a2a/node`. Without it, gRPC is not judged. */
  readonly grpc?: { readonly fetch: Fetch }
  readonly signal?: AbortSignal
  /** Headers of a second caller, such as its credentials: it must not see the tasks of the first. */
  readonly otherHeaders?: Readonly<Record<string, string>>
  /** Receives webhooks at an address that the agent can reach. Without it, deliveries are not judged. */
  readonly webhooks?: WebhookReceiver
  /** Called after each check. */
  readonly onCheck?: (check: Check, progress: ConformanceProgress) => void
}

/** How many checks are done, of how many. */
export interface ConformanceProgress {
  readonly done: number
  readonly total: number
}

export const conformanceChecks: OptionChecks<ConformanceOptions> = {
  versions: listOf(oneOf(...protocolVersions)),
  bindings: listOf(oneOf('JSONRPC', 'HTTP+JSON', 'GRPC')),
  rules: listOf(text),
  headers: recordOf(text),
  texts: group<Texts>({ task: text, message: text, inputRequired: text, longRunning: text }),
  probe: flag,
  timeout: milliseconds({ min: 1 }),
  fetch: aFunction,
  grpc: having('a transport such as grpc()', 'fetch'),
  signal: having('an AbortSignal', 'aborted'),
  otherHeaders: recordOf(text),
  webhooks: having('a receiver of webhooks', 'url', 'receive'),
  onCheck: aFunction,
}

/**
 * Judges an agent by the rules of A2A: every rule that can be measured from outside, in every version and binding that
 * its card declares. Sends real messages.
 *
 * @example
 * const report = await conformance('https://agent.example.com', { texts: { longRunning: 'count to a million' } })
 * console.log(report.failed('MUST'))
 */
export async function conformance(address: string, options: ConformanceOptions = {}): Promise<ConformanceReport> {
  const unknown = options.rules?.find((id) => !rules.some((rule) => rule.id === id))
  if (unknown !== undefined) throw new TypeError(`There is no rule "${unknown}".`)
  return await judge(
    address,
    options,
    rules.filter(({ id }) => options.rules?.includes(id) ?? true),
  )
}

function cardRequestOf(options: ConformanceOptions): CardRequest {
  const { timeout = 10_000, signal = new AbortController().signal, headers = {} } = options
  return { fetch: options.fetch ?? ((to, init) => fetch(to, init)), headers, timeout, signal }
}

/** A session with the first interface of an agent that can be spoken, for comparisons. */
export async function openOrigin(address: string, options: ConformanceOptions): Promise<ConformanceSession> {
  const url = withScheme(address)
  const request = cardRequestOf(options)
  for (const each of await findCards(url, request)) {
    const target = each.interfaces.find(({ binding }) => binding !== 'GRPC' || options.grpc)
    if (!target) continue
    const wire = await openWire(
      { target, ...request, headers: { ...extensionHeaders(each), ...request.headers } },
      options,
    )
    return openSession(wire, each, await textsFor([wire], each, options), { ...options, ...request })
  }
  throw new A2AError('version-not-supported', `The card of ${url} declares no interface that can be judged.`)
}

/** Judges an agent by the rules that were chosen. */
export async function judge(
  address: string,
  options: ConformanceOptions,
  chosen: readonly Rule[],
): Promise<ConformanceReport> {
  checkOptions('conformance', options, conformanceChecks)
  const url = withScheme(address)
  const request = cardRequestOf(options)
  const { signal, headers } = request
  const declared = (await findCards(url, request)).filter(({ version }) => options.versions?.includes(version) ?? true)
  const targets = declared.flatMap(({ interfaces }) => interfaces).filter((each) => isWanted(each, options))
  if (targets.length === 0) {
    throw new A2AError('version-not-supported', `The card of ${url} declares no interface that can be judged.`, {
      hint: 'Judged are JSONRPC, HTTP+JSON and GRPC. Versions below 1.0 are judged with --a2a-version or --legacy.',
    })
  }
  const checks: Check[] = []
  const cards = declared.flatMap(({ version, served }) =>
    targets.some((target) => target.version === version) ? [cardTarget(version, served.url)] : [],
  )
  const total = [...cards, ...targets].reduce(
    (sum, target) => sum + chosen.filter((rule) => appliesTo(rule, target)).length,
    0,
  )
  const add = (check: Check) => {
    checks.push(check)
    options.onCheck?.(check, { done: checks.length, total })
  }
  let needsCredentials = false
  const opened: CleaningWire[] = []
  try {
    for (const each of declared) {
      const own = targets.filter(({ version }) => version === each.version)
      const [first] = own
      if (!first) continue
      const card = cardTarget(each.version, each.served.url)
      const cardWire = createWire({ target: card, ...request })
      const sessionOptions = { ...options, ...request }
      await runChecks({ session: openSession(cardWire, each, {}, sessionOptions), target: card, chosen, signal, add })
      const allHeaders = { ...extensionHeaders(each), ...headers }
      const wires = await Promise.all(
        own.map((target) => openCleaning({ target, ...request, headers: allHeaders }, options)),
      )
      opened.push(...wires)
      const refusals = await Promise.all(wires.map((wire) => refusalOf(wire, headers)))
      const isOpen = (_: unknown, index: number) => refusals[index] === undefined
      const texts = await textsFor(wires.filter(isOpen), each, options)
      for (const [index, wire] of wires.entries()) {
        const session = openSession(wire, each, texts, sessionOptions)
        const refusal = refusals[index]
        if (refusal !== undefined) {
          needsCredentials = true
          for (const rule of chosen.filter((each) => appliesTo(each, wire.target))) {
            add({ ...aboutCheck(rule, wire.target), outcome: 'not measured', problem: refusal })
          }
          continue
        }
        try {
          await runChecks({ session, target: wire.target, chosen, signal, add })
        } finally {
          await session.close()
        }
      }
    }
  } finally {
    await Promise.all(opened.map(({ cleanUp }) => cleanUp()))
  }
  const { name } = declared[0]?.served.json ?? {}
  return toReport({ agent: typeof name === 'string' ? name : '', url, needsCredentials }, checks)
}

function cardTarget(version: Version, url: string): Interface {
  return { version, binding: 'CARD', url }
}

/** Why no rule of an interface can be judged: the agent wants credentials before all else. */
async function refusalOf(wire: Wire, headers: Readonly<Record<string, string>>): Promise<string | undefined> {
  const answer = await wire.call('get', { id: `conformance-${crypto.randomUUID()}` }).catch(() => undefined)
  const isRefused =
    answer?.grpcStatus === undefined
      ? answer?.status === 401 || answer?.status === 403
      : answer.grpcStatus === 'UNAUTHENTICATED' || answer.grpcStatus === 'PERMISSION_DENIED'
  if (!isRefused) return undefined
  return Object.keys(headers).length === 0
    ? 'The agent requires credentials.'
    : 'The agent refuses the credentials of the suite.'
}

/** The suite announces every extension that the card requires: otherwise all calls would be refused. */
function extensionHeaders({ version, served }: Declared): Readonly<Record<string, string>> {
  const uris = requiredExtensions(served.json).join(', ')
  return uris === '' ? {} : { [isCurrent(version) ? 'a2a-extensions' : 'x-a2a-extensions']: uris }
}

/** The code for gRPC is loaded only if it is judged. */
async function openWire(options: WireOptions, { grpc }: ConformanceOptions): Promise<Wire> {
  if (options.target.binding !== 'GRPC' || !grpc) return createWire(options)
  const { createGrpcWire } = await import('./grpc-wire.ts')
  return createGrpcWire({ ...options, fetch: grpc.fetch })
}

/** A wire that leaves nothing behind, also if the run is aborted. */
async function openCleaning(options: WireOptions, settings: ConformanceOptions): Promise<CleaningWire> {
  const [wire, cleaner] = await Promise.all([
    openWire(options, settings),
    openWire({ ...options, signal: new AbortController().signal }, settings),
  ])
  return cleaningUp(wire, cleaner)
}

function isWanted({ binding }: Interface, { bindings, grpc }: ConformanceOptions): boolean {
  if (binding === 'GRPC' && !grpc) return false
  return bindings === undefined || (bindings as readonly Subject[]).includes(binding)
}

async function textsFor(wires: readonly Wire[], { served }: Declared, options: ConformanceOptions): Promise<Texts> {
  const { texts = {}, probe = true } = options
  const [wire] = wires
  return wire && probe ? await probeTexts(wire, served.json, texts) : texts
}

type SessionSettings = CardRequest & Pick<ConformanceOptions, 'otherHeaders' | 'webhooks'>

function openSession(wire: Wire, { served }: Declared, texts: Texts, request: SessionSettings): ConformanceSession {
  return createSession({
    wire,
    served,
    card: served.json,
    texts,
    fetchCard: (headers) => requestCard(served.url, { ...served.selectedBy, ...headers }, request),
    credentialNames: Object.keys(request.headers),
    otherHeaders: request.otherHeaders,
    webhooks: request.webhooks,
  })
}

interface Run {
  readonly chosen: readonly Rule[]
  readonly session: ConformanceSession
  readonly target: Interface
  readonly signal: AbortSignal
  add(check: Check): void
}

async function runChecks({ session, target, chosen, signal, add }: Run): Promise<void> {
  for (const rule of chosen) {
    if (!appliesTo(rule, target)) continue
    signal.throwIfAborted()
    add(await runCheck(rule, session, signal))
  }
}

async function runCheck(rule: Rule, session: ConformanceSession, signal: AbortSignal): Promise<Check> {
  const about = aboutCheck(rule, session.wire.target)
  const before = session.wire.last()
  try {
    const note = (await rule.check(session)) || undefined
    return defined({ ...about, outcome: 'passed' as const, note })
  } catch (error) {
    signal.throwIfAborted()
    if (error instanceof NotMeasured) return { ...about, outcome: 'not measured', problem: error.message }
    const problem = error instanceof RuleViolation ? error.message : `The request failed: ${messageOf(error)}`
    const last = session.wire.last()
    return {
      ...about,
      outcome: 'failed',
      problem,
      ...defined({ evidence: last && last !== before ? evidenceOf(last) : undefined }),
    }
  }
}

function aboutCheck({ id, level, title, sends, expects }: Rule, { version, binding }: Interface) {
  return { rule: id, version, binding, level, title, sends, expects }
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return `${error}`
  return error.cause instanceof Error ? `${error.message} (${error.cause.message})` : error.message
}

/** Request headers are left out: they carry credentials. */
function evidenceOf({ method, url, sent, status, grpcStatus, text }: WireExchange): Evidence {
  const cut = (value: string) => (value.length > maxEvidence ? `${value.slice(0, maxEvidence)}…` : value)
  return {
    request: cut(`${method} ${url} ${sent}`.trim()),
    answer: cut(`${grpcStatus === undefined ? `HTTP ${status}` : `gRPC ${grpcStatus}`} ${text}`.trim()),
  }
}
