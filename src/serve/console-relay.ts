import { validateCard } from '../conformance/doctor/validate-card.ts'
import type { JsonObject } from '../core/base/json.ts'
import { authorizing } from '../core/client/credentials/authorize.ts'
import { byCard } from '../core/client/credentials/by-card.ts'
import type { Fetch } from '../core/http/fetch.ts'
import type { AgentCard } from '../core/protocol/card.ts'
import type { CredentialProvider } from '../core/protocol/credentials.ts'
import { A2AError } from '../core/protocol/errors.ts'
import type { Service } from '../core/protocol/service.ts'
import { verdictOf } from '../operator/agents.ts'
import type { ConnectRequest, WireSource } from '../operator/contract-tools.ts'
import { OperatorFailure } from '../operator/failures.ts'
import type { ForeignAgent } from '../operator/foreign.ts'
import {
  type ConnectedAgent,
  type ConnectHooks,
  type ConsoleRelay,
  type ConsoleRelayOptions,
  createConsoleRelay,
} from '../operator/relay.ts'
import { runConformance, runDoctor } from './console-checks.ts'
import { createConsoleFiles } from './console-files.ts'

/** An agent of another server that the command line has connected to. */
export interface OpenedAgent {
  /** The address of its server. */
  readonly url: string
  readonly card: AgentCard
  /** The card as the agent sent it. */
  readonly wireCard: JsonObject
  readonly service: Service
  /** Calls the agent without credentials, and is not recorded. */
  readonly fetch: Fetch
  readonly providers: readonly CredentialProvider[]
}

/** What the command line needs to connect. */
export interface OpenAgentHooks extends Pick<ConnectHooks, 'redirectUri' | 'authorize'> {
  /** A `fetch` whose requests the wire log keeps. */
  readonly record: (fetch: Fetch) => Fetch
}

export interface OpenRelayOptions extends Omit<ConsoleRelayOptions, 'files' | 'open' | 'checks'> {
  readonly open: (request: ConnectRequest, hooks: OpenAgentHooks) => Promise<OpenedAgent>
  /** Removes the secrets that the command line knows. */
  readonly redact: (text: string) => string
}

/** The console for agents of other servers, with the files of the built application. */
export function openConsoleRelay({ open, redact, ...options }: OpenRelayOptions): ConsoleRelay {
  return createConsoleRelay({
    ...options,
    files: createConsoleFiles(),
    checks: { doctor: runDoctor, conformance: runConformance },
    async open(request, { wireLog, agent: named, redirectUri, authorize }) {
      const agent = { ...named, redact }
      const record = (fetch: Fetch) => wireLog.record(fetch, agent, 'client')
      const opened = await open(request, { record, redirectUri, authorize }).catch(explain)
      return await toConnected(request.url, opened, (fetch, source) => wireLog.record(fetch, agent, source))
    },
  })
}

async function toConnected(
  reference: string,
  { url, card, wireCard, service, fetch, providers }: OpenedAgent,
  record: (fetch: Fetch, source: WireSource) => Fetch,
): Promise<ConnectedAgent> {
  const addresses = [url, ...card.interfaces.map((each) => each.url)].filter((each) => URL.canParse(each))
  const origins = new Set(addresses.map((each) => new URL(each).origin))
  const fetchAs = (source: WireSource): Fetch => {
    const recorded = record(fetch, source)
    if (providers.length === 0) return recorded
    const authorized = authorizing(recorded, byCard(providers, fetch), () => card)
    // Credentials go only to servers that the card names. Those that the operator writes into a raw request stay as they are.
    return (address, init) => {
      const hasOwn = new Headers(init.headers).has('authorization')
      return (hasOwn || !origins.has(new URL(address).origin) ? recorded : authorized)(address, init)
    }
  }
  const [{ violations }, signature] = await Promise.all([
    validateCard(wireCard),
    signatureOf(wireCard, url, record(fetch, 'client')),
  ])
  return { service, foreign: { reference, url, card, wireCard, violations, signature, fetchAs } }
}

/** The signatures of a card by the keys that its own server publishes. Others cannot be trusted without being told. */
async function signatureOf(wire: JsonObject, url: string, fetch: Fetch): Promise<ForeignAgent['signature']> {
  if (!Array.isArray(wire.signatures) || wire.signatures.length === 0) return { state: 'unsigned' }
  return await verdictOf(wire, { trustedOrigins: [new URL(url).origin], fetch })
}

/** The form shows what is wrong and what to do. A status of 401 would end the session of the browser. */
function explain(error: unknown): never {
  if (!(error instanceof A2AError)) throw error
  const { code, message, hint } = error
  throw new OperatorFailure(422, code, hint === undefined ? message : `${message} ${hint}`, { cause: error })
}
