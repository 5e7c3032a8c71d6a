import type { AgentCard } from '../../protocol/card.ts'
import type { A2AError } from '../../protocol/errors.ts'

/** What is known about the connection when a call fails. */
export interface FailureContext {
  readonly card?: AgentCard
  /** Where the card was found; undefined if it was passed in. */
  readonly cardUrl?: string
  readonly hasCredentials: boolean
}

/** The most common mistakes of callers and operators, each with the hint for it. */
export type Misconfiguration = keyof typeof hints

/** The hint for a reason, if it has one. */
export function hintFor(reason: string, error: A2AError, context: FailureContext): string | undefined {
  const hint = Object.hasOwn(hints, reason) ? hints[reason as Misconfiguration] : undefined
  return hint?.replace(/{(\w+)}/g, (_, fact: keyof typeof facts) => `${facts[fact](error, context)}`)
}

/** What a hint may refer to: `{url}` is replaced by the URL of the failed call. */
const facts = {
  url: ({ url }) => url,
  host: ({ url = '' }) => (URL.canParse(url) ? new URL(url).host : url),
  cardUrl: (_, { cardUrl }) => cardUrl,
  version: ({ dialect = '' }) => dialect.slice(1, 4),
  challenge: ({ metadata }) => metadata.challenge,
  wait: ({ retryAfter }) => (retryAfter === undefined ? 'Call less often' : `Wait ${retryAfter} seconds`),
  schemes: (_, { card }) => Object.keys(card?.securitySchemes ?? {}).join(' or ') || 'its schemes',
  versions: (_, { card }) => [...new Set(card?.interfaces.map(({ protocolVersion }) => protocolVersion))].join(', '),
  extensions: (_, { card }) =>
    JSON.stringify((card?.capabilities.extensions ?? []).filter(({ required }) => required).map(({ uri }) => uri)),
  interfaces: (_, { card }) =>
    card?.interfaces.map(({ binding, protocolVersion, url }) => `${binding} ${protocolVersion} at ${url}`).join(', ') ??
    'nothing',
} as const satisfies Record<string, (error: A2AError, context: FailureContext) => string | undefined>

export const hints = {
  'connection-refused': 'Start the agent, or correct the address and its port: {url}.',
  'name-not-found': 'Correct the name of the host, or its DNS: {host}.',
  'host-unreachable': 'Check the network and the firewall between here and {host}.',
  'local-address':
    'The card at {cardUrl} names {url}, which only its own machine can reach: set the public URL of the agent.',
  certificate: 'Give {host} a certificate that is trusted here, or trust the one it has.',
  'not-tls': '{host} speaks plain HTTP at that port: write http://, or put TLS in front of it.',
  'needs-https': '{host} speaks TLS at that port: write https:// in the card.',
  'not-http': 'Something other than an agent listens at {host}: check the port.',
  'bad-url': 'Write the address as https://host/path; {url} is not one.',
  'redirect-loop': 'Correct the redirects of {host}: they lead back to themselves.',
  redirected: 'A redirect turned the call into a GET: put {url} itself into the card.',
  'not-followed': 'Put the target of the redirect into the card instead of {url}, and sign it again.',
  blocked: 'In a browser this is mostly CORS: the agent must allow this origin and its headers.',
  'wrong-path':
    'There is no A2A agent at {url}: correct the path in the card, or the path at which the agent is mounted.',
  html: '{url} is a web page: the address of the agent is another path, or behind a login.',
  'not-json': '{url} is no agent, or something on the way rewrites its answers.',
  'not-a2a': '{url} is another JSON service: correct the path in the card.',
  gateway: 'A proxy answers for {host}, but the agent behind it does not: check that it runs.',
  'card-not-found': 'Serve the card at /.well-known/agent-card.json, or pass connect() its address or the card itself.',
  'not-a-card': 'The card must have a name, and supportedInterfaces (1.0) or url (before).',
  'card-verification-failed':
    'The card was changed, or its signer is not trusted here: get its keys from its owner, and pass them to verifyCard.',
  'not-loaded': 'Publish all chunks of the bundle, and keep those of the last release for open pages.',
  'card-protected': 'Even the card requires credentials: pass connect() the auth option.',
  'credentials-missing': 'The agent requires credentials: pass connect() the auth option for {schemes}.',
  'credentials-refused': 'The credentials are wrong, expired or of the wrong kind: see the challenge in metadata.',
  'wrong-audience': 'The token is for another audience: request one whose audience is {host}.',
  'scope-missing': 'The token lacks a scope: {challenge}.',
  'not-allowed': 'The credentials are valid, but do not permit this.',
  'version-skew': 'The card names A2A {versions}, but the agent does not speak {version}: update the card.',
  'no-list': 'A2A {version} has no list of tasks: keep the ids of your tasks, or call an agent that speaks 1.0.',
  'not-offered': 'Other calls to {host} work: the software of the agent is too old for this one.',
  'not-declared': 'If the agent has the capability nevertheless, its card must declare it under capabilities.',
  'mixed-versions':
    '{url} speaks 1.0, but with the objects of an older version: update the agent, or name that version in the card.',
  'extension-missing': 'The agent requires extensions: pass extensions: {extensions} to connect().',
  'tenant-missing': 'Several agents share this address: the card must name the tenant, or another address.',
  'too-many-calls': '{wait}.',
  'request-too-large': 'Send files by url instead of raw, or raise the limit of the agent.',
  'content-type-lost': 'The agent expects application/json: a proxy or a custom fetch may have dropped the header.',
  'answer-too-large': 'Raise answerLimit or eventLimit if you trust the agent with that much memory.',
  'broken-event': 'The agent, or a proxy on the way, writes events that are not JSON.',
  'foreign-id': 'The agent, or a proxy on the way, mixes up the answers.',
  'out-of-order': 'The agent, or a proxy on the way, mixes up the events: later ones cannot be trusted.',
  'connection-lost': 'The connection broke: a proxy with a short timeout, or the agent went down.',
  silent: 'Proxies cut silent streams: let the agent send heartbeats, or raise idle.',
  'ended-early': 'The agent ends streams before its tasks: get the task by its id.',
  'may-have-run': 'Look for the task before you send again; if the agent deduplicates, set peerDeduplicates: true.',
  deadline: 'Raise timeout, or stream: the task may continue although the call has timed out.',
  'no-common-interface': 'The agent offers {interfaces}.',
} as const
