import { type CardVerifier, createCardVerifier } from '../core/auth/card-signature/verify-card.ts'
import { sha256, toHex } from '../core/base/hash.ts'
import { defined, isList, isObject, type JsonObject, sameJson } from '../core/base/json.ts'
import type { Logger } from '../core/base/logger.ts'
import type { Client } from '../core/client/client.ts'
import { connect } from '../core/client/connect.ts'
import { byCard } from '../core/client/credentials/by-card.ts'
import { createCardCache } from '../core/client/find-card.ts'
import type { ConnectOptions } from '../core/client/options.ts'
import { currentVersion } from '../core/dialects/versions.ts'
import { isThisMachine } from '../core/http/address-guard.ts'
import { type Grpc, grpc } from '../core/node/grpc-client.ts'
import { createGuardedFetch } from '../core/node/guarded-fetch/guarded-fetch.ts'
import type { AgentCard, AgentInterface } from '../core/protocol/card.ts'
import { declaresIdempotency } from '../core/protocol/extensions/idempotency.ts'
import { callStream, callUnary, createService, intercept } from '../core/protocol/intercept.ts'
import type { Call, RequestOf, ResultOf, SendRequest, Service, UnaryOperation } from '../core/protocol/service.ts'
import type { Telemetry } from '../core/protocol/telemetry.ts'
import type { OwnershipStore } from '../core/tasks/ownership.ts'
import { observeCalls } from '../core/telemetry/observe-service.ts'
import { type AddressState, balance, type CallableAddress } from './addresses.ts'
import type { Content } from './content.ts'
import { createLosses, type Losses } from './losses.ts'
import type { SignatureOptions, UpstreamOptions } from './options.ts'
import type { Traffic } from './traffic.ts'

/** The card of an agent as the gateway found it. */
export interface OriginCard {
  readonly card: AgentCard
  /** As it was fetched. Undefined if it was not fetched. */
  readonly wire: JsonObject | undefined
  readonly hash: string | undefined
  readonly signature: SignatureResult
}

/** The result of checking a card's signature, with the key that its first signature names. */
export interface SignatureResult {
  readonly result: 'valid' | 'invalid' | 'unsigned' | 'unchecked'
  readonly keyId?: string
  readonly signer?: string
}

/** The connection to an agent behind the gateway. */
export interface Upstream {
  readonly name: string
  /** Calls the agent. Rejects with `unavailable` while no address can be called. */
  readonly service: Service
  readonly content: Content | undefined
  /** What translations lost so far. */
  readonly losses: Losses
  /** Undefined until the card was found. */
  origin(): OriginCard | undefined
  /** Fetches the cards of all addresses. Resolves with whether the card of the agent has changed. */
  refresh(signal?: AbortSignal): Promise<boolean>
  /** Why the card of an address could not be fetched. */
  failure(): string | undefined
  /** The addresses with their states, for the operator. */
  addresses(): readonly AddressState[]
  /** The endpoint that is called, for the operator. */
  endpoint(): { readonly url: string; readonly binding: string; readonly dialect: string } | undefined
  /** Whether the agent recognises repeated messages: its card says so, or it numbers its events. */
  numbersEvents(): boolean
  noteNumber(generation: number): void
  close(): void
}

export interface UpstreamContext {
  readonly logger: Logger
  /** Where the addresses of tasks are stored. */
  readonly ownership: OwnershipStore
  readonly content: Content | undefined
  /** Whether a catalog names the address, so that it must be public or in `allow`. */
  readonly isForeign: boolean
  readonly traffic: Traffic
  /** Gets a span for every call to the agent. */
  readonly telemetry: Telemetry | undefined
}

export function createUpstream(name: string, options: UpstreamOptions, context: UpstreamContext): Upstream {
  const { logger, ownership, content, traffic, telemetry } = context
  const { service: given, cardModel, deduplicates, url, urls = [], concurrency = 2_000 } = options
  const connections = given
    ? []
    : urls.length === 0
      ? [createConnection(name, options, context)]
      : [url, ...urls].map((each) => createConnection(name, defined({ ...options, url: each }), context))
  let origin: OriginCard | undefined =
    given && cardModel ? { card: cardModel, wire: undefined, hash: undefined, signature: unchecked } : undefined
  let numbers = false
  let refreshing: Promise<boolean> | undefined
  const losses = createLosses(name, logger, traffic.onLoss)
  const local = { url: '', service: () => given, failure: () => undefined }
  const addresses = given ? [local] : connections
  const { service: balanced, states } = balance({ name, concurrency, logger, ownership, addresses })
  const service = telemetry ? intercept(balanced, [observeCalls(telemetry, { side: 'client', agent: name })]) : balanced

  /** After the call: the first one finds the version that the agent understands. */
  function countLosses(request: object): void {
    if ('message' in request) losses.toAgent(() => endpoint()?.dialect, request as SendRequest)
  }

  function endpoint() {
    const found = connections.map((each) => each.client()?.explain().endpoint).find((each) => each !== undefined)
    return found && { url: found.url, binding: found.binding, dialect: found.dialect }
  }

  async function refresh(signal: AbortSignal | undefined): Promise<boolean> {
    const found = (await Promise.all(connections.map((each) => each.refresh(signal)))).find(
      (each) => each !== undefined,
    )
    if (!found || (origin && sameJson(origin.wire, found.wire))) return false
    if (origin) logChange(logger, name, origin, found)
    origin = found
    return true
  }

  const counted = createService({
    async unary<O extends UnaryOperation>(operation: O, request: RequestOf<O>, call: Call): Promise<ResultOf<O>> {
      const start = performance.now()
      try {
        const result = await callUnary(service, operation, request, call)
        traffic.onUpstreamCall(operation, performance.now() - start)
        countLosses(request)
        return result
      } catch (error) {
        traffic.onUpstreamCall(operation, performance.now() - start, error)
        throw error
      }
    },
    async *stream(operation, request, call) {
      const start = performance.now()
      let failure: unknown
      try {
        yield* callStream(service, operation, request, call)
        countLosses(request)
      } catch (error) {
        failure = error
        throw error
      } finally {
        traffic.onUpstreamCall(operation, performance.now() - start, failure)
      }
    },
  })

  return {
    name,
    losses,
    content,
    service: content?.around(counted) ?? counted,
    origin: () => origin,
    failure: () => connections.map((each) => each.failure()).find((each) => each !== undefined),
    addresses: states,
    endpoint,
    refresh(signal) {
      refreshing ??= refresh(signal).finally(() => {
        refreshing = undefined
      })
      return refreshing
    },
    numbersEvents: () => deduplicates ?? (numbers || (origin !== undefined && declaresIdempotency(origin.card))),
    noteNumber(generation) {
      // An agent that numbers the events of each stream starts lower: see the client's `firstNumber`.
      if (generation > 1) numbers = true
    },
    close() {
      for (const each of connections) each.close()
    },
  }
}

/** The connection to one address. */
interface Connection extends CallableAddress {
  client(): Client | undefined
  /** Fetches the card. Resolves with undefined if it cannot be used; an earlier one stays in use. */
  refresh(signal: AbortSignal | undefined): Promise<OriginCard | undefined>
  close(): void
}

/** Connects by the client. Only the configured host is called, and hosts that `allow` lists; others must be public. */
function createConnection(name: string, options: UpstreamOptions, context: UpstreamContext): Connection {
  const { logger, isForeign } = context
  const { url, urls, card, tls, auth, dialects, timeout = 60_000, idleTimeout, deduplicates } = options
  const addresses = [url, typeof card === 'string' ? card : undefined].filter((each) => each !== undefined)
  const hosts = isForeign ? [] : addresses.map((each) => new URL(each))
  const loopback = hosts.some(isThisMachine) ? 'allow' : 'refuse'
  const names = hosts.filter((each) => !isThisMachine(each)).map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''))
  const guard = { loopback, allow: [...names, ...(options.allow ?? [])], ...defined({ tls }) } as const
  // A redirect could lead to other services of the same machine or network.
  const fetch = createGuardedFetch({ ...guard, redirects: 0 })
  const grpcTransport: Grpc = grpc(guard)
  const cardCache = createCardCache(4)
  const { bindings = ['JSONRPC', 'HTTP+JSON', 'GRPC'] } = options
  const shared: ConnectOptions = {
    fetch,
    timeout,
    bindings: bindings.map((binding) => (binding === 'GRPC' ? grpcTransport : binding)),
    // Durable turns resume by themselves, and callers of a pass-through agent should know soon.
    resume: { tries: 3 },
    // Another address is tried at once.
    retry: { tries: urls ? 1 : 2 },
    ...defined({ authorize: auth && byCard(auth, fetch), dialects, peerDeduplicates: deduplicates, idle: idleTimeout }),
    onNotice(notice) {
      logger.info({ agent: name, type: notice.type, reason: notice.message }, 'a call to an agent needed attention')
    },
  }
  const verify = createSignatureCheck(options.signature, fetch)
  let current: { readonly client: Client; readonly origin: OriginCard } | undefined
  let failure: string | undefined

  async function open(signal: AbortSignal | undefined) {
    let wire: JsonObject | undefined
    let signature: SignatureResult = unchecked
    const client = await connect(card ?? url ?? '', {
      ...shared,
      cardCache,
      ...defined({ signal }),
      async verifyCard(found) {
        // Called for extended cards too: what the gateway serves comes from the public one.
        const checked = await verify(found)
        if (wire === undefined) {
          wire = found
          signature = checked.signature
        }
        return checked.card
      },
    })
    const origin = { card: client.card, wire, hash: wire && toHex(sha256(JSON.stringify(wire))), signature }
    const interfaces = usableInterfaces(client.card, options)
    const isChanged = !sameJson(interfaces, client.card.interfaces)
    // Without `verifyCard`, a client may guess endpoints and follow redirects.
    const verifyCard = async (found: JsonObject) => (await verify(found)).card
    const usable = isChanged ? await connect({ ...client.card, interfaces }, { ...shared, verifyCard }) : client
    return { client: usable, origin }
  }

  return {
    url: url ?? (typeof card === 'string' ? card : ''),
    client: () => current?.client,
    service: () => current?.client.service,
    failure: () => failure,
    async refresh(signal) {
      try {
        const found = await open(signal)
        failure = undefined
        // A client knows more of its agent after some calls, so it stays while the card is the same.
        if (!current || !sameJson(current.origin.wire, found.origin.wire)) current = found
        return found.origin
      } catch (error) {
        if (signal?.aborted) return undefined
        const reason = error instanceof Error ? error.message : String(error)
        if (reason !== failure)
          logger.warn(defined({ agent: name, url, reason }), 'the card of an agent cannot be used')
        failure = reason
        return undefined
      }
    },
    close() {
      fetch.close()
      grpcTransport.close()
    },
  }
}

const unchecked: SignatureResult = { result: 'unchecked' }

/**
 * The interfaces of a card that may be called: those of a configured origin. If the card names none of them, as cards of
 * agents behind a proxy or in a container often do, the configured URL is called in the version of the card.
 */
function usableInterfaces(card: AgentCard, options: UpstreamOptions): readonly AgentInterface[] {
  const { url, allow = [], bindings } = options
  const [preferred = { binding: 'JSONRPC', protocolVersion: currentVersion }] = card.interfaces.filter(
    ({ binding }) => bindings?.[0] === undefined || binding === bindings[0],
  )
  const fallback = url === undefined ? [] : [{ ...preferred, url }]
  // Given both, the URL is the endpoint, whatever the card says.
  if (url !== undefined && options.card !== undefined) return fallback
  const base = new URL(url ?? (typeof options.card === 'string' ? options.card : 'http://localhost'))
  if (url === undefined && typeof options.card !== 'string') return card.interfaces
  const kept = card.interfaces.filter((each) => {
    const target = addressOf(each)
    if (!target) return false
    if (allow.includes(target.hostname)) return true
    // gRPC is often on a port of its own.
    return each.binding === 'GRPC' ? target.hostname === base.hostname : target.origin === base.origin
  })
  return kept.length > 0 ? kept : fallback.length > 0 ? fallback : [{ ...preferred, url: base.origin }]
}

function addressOf({ url, binding }: AgentInterface): URL | undefined {
  const text = binding === 'GRPC' && !url.includes('://') ? `http://${url}` : url
  return URL.canParse(text) ? new URL(text) : undefined
}

/** Checks the signature of a card. Throws if the card must not be used. */
function createSignatureCheck(options: SignatureOptions = {}, fetch: ConnectOptions['fetch']) {
  const { mode: chosen, ...trusted } = options
  const hasKeys = Object.values(trusted).some((each) => each !== undefined)
  const mode = chosen ?? (hasKeys ? 'prefer' : 'ignore')
  const verifier: CardVerifier | undefined =
    mode === 'ignore' ? undefined : createCardVerifier({ ...trusted, ...defined({ fetch }) })

  return async (card: JsonObject): Promise<{ readonly card: JsonObject; readonly signature: SignatureResult }> => {
    const isSigned = isList(card.signatures) && card.signatures.length > 0
    const header = signatureHeader(card)
    if (!isSigned) {
      if (mode === 'require') throw new Error('it is not signed, and signature.mode is require')
      return { card, signature: { result: 'unsigned' } }
    }
    if (!verifier) return { card, signature: { ...header, result: 'unchecked' } }
    return { card: await verifier(card), signature: { ...header, result: 'valid' } }
  }
}

/** The key that the first signature names. */
function signatureHeader({ signatures }: JsonObject): Omit<SignatureResult, 'result'> {
  const first = isList(signatures) ? signatures[0] : undefined
  if (!isObject(first) || typeof first.protected !== 'string') return {}
  try {
    const { kid, jku, iss } = JSON.parse(atob(first.protected.replaceAll('-', '+').replaceAll('_', '/'))) as JsonObject
    const signer = typeof jku === 'string' ? jku : iss
    return defined({
      keyId: typeof kid === 'string' ? kid.slice(0, 256) : undefined,
      signer: typeof signer === 'string' ? signer.slice(0, 512) : undefined,
    })
  } catch {
    return {}
  }
}

/** A new key or other skills may be an attack, so the operator should see them. */
function logChange(logger: Logger, agent: string, before: OriginCard, after: OriginCard): void {
  const ids = ({ card }: OriginCard) => card.skills.map(({ id }) => id)
  const added = ids(after).filter((id) => !ids(before).includes(id))
  const removed = ids(before).filter((id) => !ids(after).includes(id))
  const isNewKey = before.signature.keyId !== after.signature.keyId
  const fields = { agent, added, removed, hash: after.hash, signature: after.signature.result }
  if (isNewKey || added.length > 0 || removed.length > 0) {
    const keys = isNewKey ? { keyBefore: before.signature.keyId, keyNow: after.signature.keyId } : {}
    logger.warn({ ...fields, ...keys }, 'the card of an agent has changed its key or skills')
  } else logger.info(fields, 'the card of an agent has changed')
}
