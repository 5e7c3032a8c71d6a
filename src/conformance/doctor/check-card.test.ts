import { expect, it } from 'vitest'
import type { JsonObject } from '../../core/base/json.ts'
import { readPeerCard } from '../../core/dialects/peer-card.ts'
import { checkCard } from './check-card.ts'

const base = {
  name: 'Agent',
  description: 'An agent.',
  version: '1.0.0',
  capabilities: {},
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
}

const at = (url: string, more: JsonObject = {}) => ({
  ...base,
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0', ...more }],
})

interface Served {
  readonly cardUrl?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signature?: string
}

/** The findings above info, or all of them with their severity. */
async function findingsOf(wire: JsonObject, { cardUrl, headers, signature = 'verified' }: Served = {}) {
  const url = cardUrl ?? 'https://agent.example.com/.well-known/agent-card.json'
  const response = { status: 200, body: '', headers: headers ?? { 'content-type': 'application/json', etag: '"1"' } }
  const evidence = [{ request: { method: 'GET', url, headers: {} }, response }]
  const { card } = await readPeerCard(wire)
  const findings = checkCard({ wire, card, cardUrl: url, evidence: evidence as never, violations: [], signature })
  for (const { problem, fix } of findings) expect(`${problem} ${fix}`).toMatch(/^[A-Z].+ [A-Z].+/s)
  return findings.map(({ severity, id }) => `${severity} ${id}`)
}

const own = 'https://agent.example.com/a2a'

it('a card without faults has no findings', async () => {
  expect(await findingsOf(at(own))).toEqual([])
})

it('addresses that callers cannot or should not use are found', async () => {
  expect(await findingsOf(at('http://agent.example.com/a2a'))).toEqual(['error plain-http'])
  expect(await findingsOf(at('https://localhost:4000/a2a'))).toEqual(['error local-address'])
  expect(await findingsOf(at('https://other.example.com/a2a'))).toEqual(['info other-host'])
  const plain = { cardUrl: 'http://agent.example.com/.well-known/agent-card.json' }
  expect(await findingsOf(at('http://agent.example.com/a2a'), plain)).toEqual(['warning card-plain-http'])
})

it('a card at the former path, without a JSON type, or that cannot be cached is found', async () => {
  const former = { cardUrl: 'https://agent.example.com/.well-known/agent.json' }
  expect(await findingsOf(at(own), former)).toEqual(['warning card-former-path'])
  const headers = { 'content-type': 'text/html' }
  expect(await findingsOf(at(own), { headers })).toEqual(['warning card-content-type', 'info card-not-cacheable'])
})

it('bindings and versions that A2A does not have are found', async () => {
  expect(await findingsOf(at(own, { protocolBinding: 'jsonrpc2' }))).toEqual(['warning unknown-binding'])
  expect(await findingsOf(at(own, { protocolVersion: 'latest' }))).toEqual(['warning unknown-version'])
})

it('cards that mix the forms of versions are found', async () => {
  const legacy = { ...base, url: own, protocolVersion: '1.0', preferredTransport: 'JSONRPC' }
  expect(await findingsOf(legacy)).toContain('error card-form')
  const hybrid = { ...at(own), url: own, protocolVersion: '0.3.0' }
  expect(await findingsOf(hybrid)).toEqual(['info hybrid', 'warning hybrid-version'])
  const torn = { ...at(own), url: 'https://agent.example.com/other' }
  expect(await findingsOf(torn)).toEqual(['warning hybrid-url'])
})

it('security schemes that are undeclared, unused, outdated or unsafe are found', async () => {
  const key = { apiKeySecurityScheme: { location: 'query', name: 'key' } }
  const implicit = {
    oauth2SecurityScheme: { flows: { implicit: { authorizationUrl: 'https://a.example', scopes: {} } } },
  }
  const requiring = (name: string) => [{ schemes: { [name]: { list: [] } } }]
  const secured = (schemes: JsonObject, required: readonly JsonObject[]) => ({
    ...at(own),
    securitySchemes: schemes,
    securityRequirements: required,
  })
  expect(await findingsOf(secured({}, requiring('missing')))).toEqual(['error scheme-undefined'])
  expect(await findingsOf(secured({ key }, requiring('key')))).toEqual(['warning key-in-url'])
  expect(await findingsOf(secured({ implicit }, requiring('implicit')))).toEqual(['warning oauth-flow'])
  expect(await findingsOf(secured({ key }, []))).toEqual(['warning security-not-required', 'warning key-in-url'])
})

it('a signature that is absent or cannot be verified is found', async () => {
  expect(await findingsOf(at(own), { signature: 'absent' })).toEqual(['info signature-absent'])
  const unverifiable = { signature: 'unverifiable (no key fits)' }
  expect(await findingsOf(at(own), unverifiable)).toEqual(['warning signature-unverifiable'])
})

it('an address of gRPC that Google ADK rejects is found', async () => {
  const withGrpc = (url: string) => {
    const { supportedInterfaces } = at(own)
    const grpc = { url, protocolBinding: 'GRPC', protocolVersion: '1.0' }
    return { ...at(own), supportedInterfaces: [...supportedInterfaces, grpc] }
  }
  expect(await findingsOf(withGrpc('agent.example.com:443'))).toContain('info grpc-address')
  expect(await findingsOf(withGrpc('https://agent.example.com'))).not.toContain('info grpc-address')
})
