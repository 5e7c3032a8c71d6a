import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { MeshError, MeshRefusal, statusOf } from '../mesh/errors.ts'
import { A2AError, type ErrorCode } from '../protocol/errors.ts'
import { inMesh, toA2AError, toMeshError } from './errors.ts'

const codes = Object.keys(inMesh) as ErrorCode[]

describe('an error of A2A in the mesh', () => {
  it('has a standard code, and every standard code is used', () => {
    const used = new Set(Object.values(inMesh).map(({ code }) => code))
    expect([...used].sort()).toEqual(Object.keys(statusOf).sort())
  })

  it.each(codes)('%s keeps what it says, and names its reason', (code) => {
    const told = toMeshError(new A2AError(code, 'No tea.', { metadata: { leaf: 'green' } }))
    expect(told).toBeInstanceOf(inMesh[code].as === 'response' ? MeshRefusal : MeshError)
    expect(told).toMatchObject({ code: inMesh[code].code, message: 'No tea.' })
    expect(told.details).toMatchObject({
      reason: expect.stringMatching(/^[A-Z_]+$/),
      a2a: { code: expect.any(Number) },
    })
  })

  it.each(codes)('%s comes back as itself, or as what A2A 1.0 has no other word for', (code) => {
    const same: Partial<Record<ErrorCode, ErrorCode>> = {
      'streaming-not-supported': 'unsupported-operation',
      'task-ended': 'unsupported-operation',
    }
    const back = toA2AError(toMeshError(new A2AError(code, 'No tea.')))
    expect(back).toMatchObject({ code: same[code] ?? code, message: 'No tea.' })
  })

  it('is in the table of the guide, where it belongs', async () => {
    const page = await readFile(new URL('../../docs/mesh-bridge.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| (.*) \| `([A-Z_]+)` \| `(response|error)` \|$/gm)]
    const told = rows.flatMap(([, list = '', code, as]) =>
      [...list.matchAll(/`([a-z-]+)`/g)].map(([, name]) => [name, { code, as }]),
    )
    expect(Object.fromEntries(told)).toEqual(inMesh)
  })

  it('tells when to come again in whole seconds, and never less', () => {
    expect(toMeshError(new A2AError('rate-limited', 'Slowly.', { retryAfter: 1.2 }))).toMatchObject({ retryAfter: 2 })
  })

  it('is at most as long as the mesh allows, in whole characters, and never empty', () => {
    const { message } = toMeshError(new A2AError('forbidden', '🍵'.repeat(400)))
    expect(message.length).toBeLessThanOrEqual(500)
    expect(message.isWellFormed()).toBe(true)
    expect(toMeshError(new A2AError('forbidden', '')).message).toBe('FORBIDDEN')
  })

  it('says nothing of its cause, its challenge or its hints', () => {
    const secrets = { cause: new Error('secret'), challenge: 'Bearer secret', hint: 'secret', url: 'http://secret' }
    const { message, details } = toMeshError(new A2AError('unauthenticated', 'Who are you?', secrets))
    expect(JSON.stringify({ message, details })).not.toContain('secret')
  })
})

describe('an error of the mesh in A2A', () => {
  it.each([
    ['INVALID_MESSAGE', {}, 'invalid-request'],
    ['VALIDATION_FAILED', {}, 'invalid-params'],
    ['AUTHENTICATION_FAILED', { reason: 'REPLAY' }, 'unauthenticated'],
    ['FORBIDDEN', {}, 'forbidden'],
    ['NOT_FOUND', {}, 'task-not-found'],
    ['NOT_FOUND', { what: 'method' }, 'method-not-found'],
    ['NOT_FOUND', { what: 'recipient' }, 'unavailable'],
    ['METHOD_NOT_ALLOWED', {}, 'unsupported-operation'],
    ['PAYLOAD_TOO_LARGE', {}, 'payload-too-large'],
    ['RATE_LIMIT_EXCEEDED', {}, 'rate-limited'],
    ['INTERNAL_ERROR', {}, 'internal'],
    ['SERVICE_UNAVAILABLE', {}, 'unavailable'],
    ['TIMEOUT', {}, 'timeout'],
    ['INVALID_CURRENCY', {}, 'tool-failed'],
    ['constructor', {}, 'tool-failed'],
  ] as const)('%s %o is %s', (code, details, expected) => {
    const error = toA2AError(new MeshError(code, 'No.', { details, retryAfter: 3 }))
    expect(error).toMatchObject({ code: expected, reason: code, retryAfter: 3, metadata: { reason: code } })
  })

  it('does not tell by which way the peer is reached', () => {
    const lost = new MeshError('SERVICE_UNAVAILABLE', 'http://10.0.0.7/mesh cannot be reached.', { peer: 'tea-agent' })
    expect(toA2AError(lost).message).toBe('The agent behind this one cannot be reached.')
  })

  it.each([
    [{ a2a: { code: 'x' } }],
    [{ a2a: 7 }],
    [{ a2a: null }],
    [{ a2a: { code: -32001, data: 'x' } }],
    [{ a2a: { code: 1e9, data: [null, { reason: 7 }] } }],
  ])('can be read whatever a peer has put into it: %j', (details) => {
    expect(toA2AError(new MeshRefusal('NOT_FOUND', 'No.', details))).toBeInstanceOf(A2AError)
  })
})
