import { isList, isObject, type JsonObject } from '../../core/base/json.ts'
import type { AgentCard, AgentInterface } from '../../core/protocol/card.ts'
import type { Finding, RecordedExchange, Severity } from './report.ts'

export interface CardInput {
  /** The card as the agent sent it, and as it was read. */
  readonly wire: JsonObject
  readonly card: AgentCard
  /** Undefined for a card in a file. */
  readonly cardUrl: string | undefined
  /** The request for the card. */
  readonly evidence: readonly RecordedExchange[]
  /** Violations of the schema. */
  readonly violations: readonly string[]
  /** Whether clients cannot read the card in spite of them. */
  readonly isUnreadable?: boolean
  /** `verified`, `absent`, or why it cannot be verified. */
  readonly signature: string
}

const knownBindings = ['JSONRPC', 'HTTP+JSON', 'GRPC']
const knownVersions = /^(1\.\d+|0\.[123])(\.\d+)?$/

/** Findings that follow from the card itself, without a call. */
export function checkCard(input: CardInput): readonly Finding[] {
  const { wire, card, cardUrl, evidence, violations, signature, isUnreadable = false } = input
  const subject = cardUrl ?? 'the card'
  const finding = (severity: Severity, id: string, problem: string, fix: string): Finding => ({
    severity,
    id,
    subject,
    problem,
    fix,
    evidence: severity === 'info' ? [] : evidence.slice(-1),
  })
  const findings: Finding[] = []
  findings.push(...schemaFindings(violations, isUnreadable ? 'error' : 'warning', finding))
  findings.push(...checkDelivery(input, finding), ...checkHybrid(wire, card, finding), ...checkSecurity(card, finding))
  for (const each of card.interfaces) findings.push(...checkInterface(each, cardUrl, finding))
  if (card.interfaces.some(({ binding, url }) => binding === 'GRPC' && !/^https?:/.test(url))) {
    const problem = 'The card names gRPC by host and port, as gRPC clients need it. Google ADK rejects such a card.'
    const fix =
      'Give Google ADK a card without gRPC: agents served by Parley have it at /.well-known/agent-card-http.json.'
    findings.push(finding('info', 'grpc-address', problem, fix))
  }
  if (signature === 'absent') {
    const fix = 'Sign the card, so that callers can verify who has written it.'
    findings.push(finding('info', 'signature-absent', 'The card is not signed.', fix))
  } else if (signature !== 'verified') {
    const fix = 'Sign the card as it is served, and publish the key where callers trust it; or pass the keys by --jwks.'
    findings.push(finding('warning', 'signature-unverifiable', `The signature of the card is ${signature}.`, fix))
  }
  return findings
}

type CreateFinding = (severity: Severity, id: string, problem: string, fix: string) => Finding

/** A finding for each violation of the schema. */
function schemaFindings(violations: readonly string[], severity: Severity, finding: CreateFinding): readonly Finding[] {
  const readers = severity === 'error' ? 'Clients' : 'Clients that validate cards'
  const fix = `Correct this member. ${readers} reject the card.`
  return violations.map((each) => finding(severity, 'card-schema', `The card breaks its schema: ${each}.`, fix))
}

/** Where and how the card is served. */
function* checkDelivery({ cardUrl, evidence, wire }: CardInput, finding: CreateFinding): Generator<Finding> {
  if (cardUrl === undefined) return
  const { pathname, protocol, hostname } = new URL(cardUrl)
  if (pathname.endsWith('/.well-known/agent.json') && !isLegacyCard(wire)) {
    const fix = 'Serve the card at /.well-known/agent-card.json as well.'
    yield finding('warning', 'card-former-path', 'The card is only at the path of versions before 0.3.', fix)
  }
  if (protocol === 'http:' && !isLocalHost(hostname)) {
    const fix = 'Serve the agent over https.'
    yield finding('warning', 'card-plain-http', 'The card is served over http: anyone on the way can change it.', fix)
  }
  const { headers = {} } = evidence.at(-1)?.response ?? {}
  const type = headers['content-type'] ?? ''
  if (!/^application\/([\w.-]+\+)?json\b/.test(type)) {
    const problem = `The card has the content type ${type || '(none)'}.`
    yield finding('warning', 'card-content-type', problem, 'Serve it as application/json.')
  }
  if (headers.etag === undefined && headers['cache-control'] === undefined) {
    const problem = 'The card has neither ETag nor Cache-Control: every caller fetches it in full every time.'
    yield finding('info', 'card-not-cacheable', problem, 'Send Cache-Control and an ETag with the card.')
  }
}

function isLegacyCard({ supportedInterfaces, protocolVersion }: JsonObject): boolean {
  return !isList(supportedInterfaces) && (typeof protocolVersion !== 'string' || /^0\.[12]/.test(protocolVersion))
}

/** Cards with the members of several versions. */
function* checkHybrid(wire: JsonObject, { interfaces }: AgentCard, finding: CreateFinding): Generator<Finding> {
  const { supportedInterfaces, url, protocolVersion } = wire
  const isCurrent = isList(supportedInterfaces) && supportedInterfaces.length > 0
  if (!isCurrent && typeof protocolVersion === 'string' && /^[1-9]/.test(protocolVersion)) {
    const problem = `The card claims A2A ${protocolVersion}, but has no supportedInterfaces: it has the form of a version before 1.0.`
    yield finding(
      'error',
      'card-form',
      problem,
      'List the interfaces in supportedInterfaces, each with its protocolVersion.',
    )
  }
  if (!isCurrent || typeof url !== 'string') return
  const sameUrl = interfaces.find((each) => sameAddress(each.url, url))
  if (!sameUrl) {
    const problem = `The card is for 1.0 and older clients, but its url ${url} is none of its supportedInterfaces.`
    yield finding('warning', 'hybrid-url', problem, 'Name the same address in url and in an interface, or remove url.')
  } else {
    const names = ['url', 'protocolVersion', 'preferredTransport', 'additionalInterfaces'].filter(
      (name) => name in wire,
    )
    const problem = `The card is a hybrid: it has supportedInterfaces for 1.0, and ${names.join(', ')} for older clients.`
    yield finding('info', 'hybrid', problem, 'Nothing, as long as older clients are to be served.')
  }
  if (typeof protocolVersion === 'string' && /^0\./.test(protocolVersion)) {
    const claimed = protocolVersion.slice(0, 3)
    if (interfaces.some((each) => each.protocolVersion.startsWith(claimed))) return
    const problem = `The card claims A2A ${protocolVersion} for older clients, but none of its interfaces has that version.`
    yield finding(
      'warning',
      'hybrid-version',
      problem,
      `Add an interface of version ${claimed}, or remove protocolVersion.`,
    )
  }
}

function* checkSecurity(card: AgentCard, finding: CreateFinding): Generator<Finding> {
  const { securitySchemes = {}, security = [], skills } = card
  const required = [...security, ...skills.flatMap((skill) => skill.security ?? [])]
  const names = [...new Set(required.flatMap((requirement) => Object.keys(requirement)))]
  for (const name of names) {
    if (Object.hasOwn(securitySchemes, name)) continue
    const problem = `The card requires the security scheme ${name}, but does not declare it.`
    yield finding('error', 'scheme-undefined', problem, `Declare ${name} in securitySchemes.`)
  }
  if (Object.keys(securitySchemes).length > 0 && security.length === 0) {
    const problem = 'The card declares security schemes, but requires none of them.'
    const fix =
      'List the required schemes in securityRequirements (security before 1.0), or callers send no credentials.'
    yield finding('warning', 'security-not-required', problem, fix)
  }
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    if (scheme.type === 'oauth2' && (scheme.flow.type === 'implicit' || scheme.flow.type === 'password')) {
      const problem = `The scheme ${name} uses the OAuth flow ${scheme.flow.type}, which OAuth 2.1 has removed.`
      yield finding(
        'warning',
        'oauth-flow',
        problem,
        'Offer the authorization code flow with PKCE, or the device code.',
      )
    }
    if (scheme.type === 'api-key' && scheme.location === 'query') {
      const problem = `The scheme ${name} puts the API key into the URL, which proxies and servers log.`
      yield finding('warning', 'key-in-url', problem, 'Accept the key in a header.')
    }
  }
}

function* checkInterface(
  { url, binding, protocolVersion }: AgentInterface,
  cardUrl: string | undefined,
  create: CreateFinding,
): Generator<Finding> {
  const finding: CreateFinding = (...args) => ({ ...create(...args), subject: `${binding} ${protocolVersion} ${url}` })
  if (!knownBindings.includes(binding)) {
    const problem = `The binding ${binding} is none of ${knownBindings.join(', ')}.`
    yield finding('warning', 'unknown-binding', problem, 'Write the binding in exactly this form.')
  }
  if (!knownVersions.test(protocolVersion)) {
    const problem = `The version "${protocolVersion}" is no version of A2A.`
    yield finding('warning', 'unknown-version', problem, 'Write Major.Minor, such as 1.0.')
  }
  if (cardUrl === undefined || !URL.canParse(url)) return
  const [address, card] = [new URL(url), new URL(cardUrl)]
  if (card.protocol === 'https:' && address.protocol === 'http:') {
    const fix = `Write https://${address.host}${address.pathname} into the card. A server behind a proxy must know its public URL.`
    yield finding('error', 'plain-http', 'The card is served over https, but names an http address.', fix)
  }
  if (isLocalHost(address.hostname) && !isLocalHost(card.hostname)) {
    const fix = 'Set the public URL of the agent.'
    yield finding('error', 'local-address', 'The card names an address that only its own machine can reach.', fix)
  } else if (address.host !== card.host && /^https?:$/.test(address.protocol)) {
    const problem = `The interface is on another host (${address.host}) than the card (${card.host}).`
    yield finding('info', 'other-host', problem, 'Nothing, if both belong to you.')
  }
}

function isLocalHost(hostname: string): boolean {
  return /^(localhost|0\.0\.0\.0|127\.[\d.]+|\[::1?\]|.*\.(local|internal|svc))$/i.test(hostname)
}

function sameAddress(one: string, other: string): boolean {
  const normalize = (url: string) => (URL.canParse(url) ? new URL(url).href.replace(/\/$/, '') : url)
  return normalize(one) === normalize(other)
}

/** The claims of a card that are compared with what the agent does. */
export function claimsOf({ capabilities, interfaces, securitySchemes = {}, security = [] }: AgentCard): JsonObject {
  return {
    versions: [...new Set(interfaces.map(({ protocolVersion }) => protocolVersion))],
    bindings: [...new Set(interfaces.map(({ binding }) => binding))],
    streaming: capabilities.streaming === true,
    push: capabilities.pushNotifications === true,
    extendedCard: capabilities.extendedCard === true,
    securitySchemes: Object.keys(securitySchemes),
    requiresCredentials: requiresCredentials({ security }),
  }
}

/** An empty requirement means that credentials are optional. */
export function requiresCredentials({ security = [] }: Pick<AgentCard, 'security'>): boolean {
  return (
    security.length > 0 && security.every((requirement) => isObject(requirement) && Object.keys(requirement).length > 0)
  )
}
