import { defined } from '../../core/base/json.ts'
import type { ConnectOptions } from '../../core/client/options.ts'
import type { AgentInterface } from '../../core/protocol/card.ts'
import type { Recorder } from './recorder.ts'
import type { Finding, RecordedExchange, Severity } from './report.ts'

/** The origin that the CORS probe names. */
const probeOrigin = 'https://doctor.example'

/** Days before the end of a certificate from which on it is a finding. */
const minValidity = 21

const timeout = 15_000

export interface NetworkOptions {
  readonly recorder: Recorder
  readonly fetch: NonNullable<ConnectOptions['fetch']>
  readonly signal: AbortSignal
}

/** Whether web pages may call an address: a preflight request as browsers send it. */
export async function probeCors(
  { url, binding, protocolVersion }: AgentInterface,
  needsCredentials: boolean,
  options: NetworkOptions,
): Promise<{ readonly cors?: boolean; readonly findings: readonly Finding[] }> {
  const names = ['content-type', ...(/^1\./.test(protocolVersion) ? ['a2a-version'] : [])]
  if (needsCredentials) names.push('authorization')
  const address = binding === 'HTTP+JSON' ? `${url.replace(/\/$/, '')}/message:send` : url
  const { exchange } = await send(address, options, {
    method: 'OPTIONS',
    headers: {
      origin: probeOrigin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': names.join(','),
    },
  })
  const subject = `${binding} ${protocolVersion} ${url}`
  const finding = (severity: Severity, id: string, problem: string, fix: string): Finding => ({
    severity,
    id,
    subject,
    problem,
    fix,
    evidence: exchange ? [exchange] : [],
  })
  if (!exchange?.response) return { findings: [] }
  const { headers } = exchange.response
  const allowed = headers['access-control-allow-origin']
  if (allowed !== '*' && allowed !== probeOrigin) {
    const fix = 'If web pages are to call the agent, answer preflight requests and allow their origins.'
    return {
      cors: false,
      findings: [finding('info', 'no-cors', 'Web pages of other origins cannot call the agent.', fix)],
    }
  }
  if (allowed === probeOrigin && headers['access-control-allow-credentials'] === 'true') {
    const problem = 'Any web page may call the agent with the cookies of its visitor.'
    const fix = 'Allow credentials only for origins that you list.'
    return { cors: true, findings: [finding('warning', 'cors-credentials', problem, fix)] }
  }
  const list = (headers['access-control-allow-headers'] ?? '').toLowerCase().split(/\s*,\s*/)
  const missing = names.filter((name) => !list.includes(name) && (name === 'authorization' || !list.includes('*')))
  if (missing.length === 0) return { cors: true, findings: [] }
  const problem = `Web pages may call the agent, but not with the headers ${missing.join(', ')}, which they need.`
  const fix = `Add ${missing.join(', ')} to Access-Control-Allow-Headers.`
  return { cors: false, findings: [finding('warning', 'cors-headers', problem, fix)] }
}

/** Whether a 1.0 agent rejects a version that does not exist, as it must. */
export async function probeUnknownVersion(each: AgentInterface, options: NetworkOptions): Promise<readonly Finding[]> {
  const { url, binding, protocolVersion, tenant } = each
  if (!/^1\./.test(protocolVersion) || binding === 'GRPC') return []
  const id = crypto.randomUUID()
  const headers = { 'a2a-version': '99.0', accept: 'application/json' }
  const params = defined({ id, tenant: tenant || undefined })
  const { exchange, text } =
    binding === 'JSONRPC'
      ? await send(url, options, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'GetTask', params }),
        })
      : await send(`${url.replace(/\/$/, '')}${tenant ? `/${tenant}` : ''}/tasks/${id}`, options, { headers })
  const status = exchange?.response?.status
  if (!exchange?.response || status === 401 || status === 403) return []
  if (/-32009|VERSION_NOT_SUPPORTED|VersionNotSupported/i.test(text)) return []
  const problem = 'The agent answers a call in A2A 99.0 as if it spoke that version.'
  const fix =
    'Check the header A2A-Version, and answer VersionNotSupportedError (-32009) for versions that are not served.'
  const subject = `${binding} ${protocolVersion} ${url}`
  return [{ severity: 'warning', id: 'version-ignored', subject, problem, fix, evidence: [exchange] }]
}

/** The card at the path of versions before 0.3, for agents that speak those. */
export async function probeFormerCard(cardUrl: string, options: NetworkOptions): Promise<readonly Finding[]> {
  if (!cardUrl.endsWith('/.well-known/agent-card.json')) return []
  const url = cardUrl.replace(/agent-card\.json$/, 'agent.json')
  const { exchange } = await send(url, options, { headers: { accept: 'application/json' } })
  if (!exchange?.response || exchange.response.status === 200) return []
  const problem =
    'The agent speaks a version before 0.3, but its card is not at the path where clients of those versions look.'
  const fix = 'Serve the card at /.well-known/agent.json as well.'
  return [{ severity: 'warning', id: 'card-new-path-only', subject: url, problem, fix, evidence: [exchange] }]
}

/** How long the certificate of an https address is valid, and which TLS it speaks. Failures show up in the calls. */
export async function probeTls(url: string, inspectTls: InspectTls, signal: AbortSignal): Promise<readonly Finding[]> {
  const { host } = new URL(url)
  const session = await inspectTls(...tlsAddress(new URL(url)), signal)
  if (!session) return []
  const finding = (id: string, problem: string, fix: string): Finding => ({
    severity: 'warning',
    id,
    subject: host,
    problem,
    fix,
    evidence: [],
  })
  const days = Math.floor((Date.parse(session.validTo) - Date.now()) / 86_400_000)
  const findings: Finding[] = []
  if (days >= 0 && days < minValidity) {
    const problem = `The certificate of ${host} ends in ${days} days (${session.validTo}).`
    findings.push(finding('certificate-ends', problem, 'Renew the certificate, and automate it.'))
  }
  if (session.protocol !== 'TLSv1.3' && session.protocol !== 'TLSv1.2') {
    findings.push(finding('old-tls', `${host} speaks ${session.protocol}.`, 'Serve TLS 1.2 or 1.3.'))
  }
  return findings
}

/** The host and the port of a TLS connection to a URL. */
export function tlsAddress({ hostname, port }: URL): readonly [host: string, port: number] {
  return [hostname.replace(/^\[|\]$/g, ''), Number(port || 443)]
}

/** What a TLS handshake shows. */
export interface TlsSession {
  /** The end of the certificate, in the format of OpenSSL. */
  readonly validTo: string
  readonly protocol: string
}

/** Opens a TLS session with a host and closes it. Undefined if there is none. */
export type InspectTls = (host: string, port: number, signal: AbortSignal) => Promise<TlsSession | undefined>

/** Sends a request that no client of A2A sends. The calls show why there is no response. */
async function send(
  url: string,
  { fetch, recorder, signal }: NetworkOptions,
  init: RequestInit,
): Promise<{ readonly exchange?: RecordedExchange; readonly text: string }> {
  const mark = recorder.mark()
  try {
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeout)]),
    })
    const text = (await response.text()).slice(0, 10_000)
    const exchange = recorder.since(mark).at(-1)
    return defined({ text, exchange })
  } catch {
    signal.throwIfAborted()
    return { text: '' }
  }
}
