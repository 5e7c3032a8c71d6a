import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { A2AError, type ErrorCode } from '../../core/protocol/errors.ts'
import { MeshError, MeshRefusal, statusOf } from '../errors.ts'
import { meshErrors, toA2AError, toMeshError } from './errors.ts'

const codes = Object.keys(meshErrors) as ErrorCode[]

describe('an A2A error in the mesh', () => {
  it('an A2A error in the mesh has a standard code, and every standard code is used', () => {
    const used = new Set(Object.values(meshErrors).map(({ code }) => code))
    expect([...used].sort()).toEqual(Object.keys(statusOf).sort())
  })

  it.each(codes)('%s keeps its message and names its reason', (code) => {
    const converted = toMeshError(new A2AError(code, 'No tea.', { metadata: { leaf: 'green' } }))
    expect(converted).toBeInstanceOf(meshErrors[code].as === 'response' ? MeshRefusal : MeshError)
    expect(converted).toMatchObject({ code: meshErrors[code].code, message: 'No tea.' })
    expect(converted.details).toMatchObject({
      reason: expect.stringMatching(/^[A-Z_]+$/),
      a2a: { code: expect.any(Number) },
    })
  })

  it.each(codes)('%s is restored, or becomes the code that A2A 1.0 uses for it', (code) => {
    const same: Partial<Record<ErrorCode, ErrorCode>> = {
      'streaming-not-supported': 'unsupported-operation',
      'task-ended': 'unsupported-operation',
    }
    const back = toA2AError(toMeshError(new A2AError(code, 'No tea.')))
    expect(back).toMatchObject({ code: same[code] ?? code, message: 'No tea.' })
  })

  it('an A2A error in the mesh is listed in the table of the guide', async () => {
    const page = await readFile(new URL('../../../docs/guides/mesh-bridge.md', import.meta.url), 'utf8')
    const rows = [...page.matchAll(/^\| (.*) \| `([A-Z_]+)` \| `(response|error)` \|$/gm)]
    const documented = rows.flatMap(([, list = '', code, as]) =>
      [...list.matchAll(/`([a-z-]+)`/g)].map(([, name]) => [name, { code, as }]),
    )
    expect(Object.fromEntries(documented)).toEqual(meshErrors)
  })

  it('rounds retryAfter up to seconds', () => {
    expect(toMeshError(new A2AError('rate-limited', 'Slowly.', { retryAfter: 1.2 }))).toMatchObject({ retryAfter: 2 })
  })

  it('an A2A error in the mesh has a message that is not empty, not too long and well-formed', () => {
    const { message } = toMeshError(new A2AError('forbidden', '🍵'.repeat(400)))
    expect(message.length).toBeLessThanOrEqual(500)
    expect(message.isWellFormed()).toBe(true)
    expect(toMeshError(new A2AError('forbidden', '')).message).toBe('FORBIDDEN')
  })

  it('an A2A error in the mesh does not reveal its cause, challenge or hints', () => {
    const secrets = { cause: new Error('secret'), challenge: 'Bearer secret', hint: 'secret', url: 'http://secret' }
    const { message, details } = toMeshError(new A2AError('unauthenticated', 'Who are you?', secrets))
    expect(JSON.stringify({ message, details })).not.toContain('secret')
  })
})

describe('a mesh error in A2A', () => {
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

  it('a mesh error in A2A does not reveal the address of the peer', () => {
    const error = new MeshError('SERVICE_UNAVAILABLE', 'http://10.0.0.7/mesh cannot be reached.', { peer: 'tea-agent' })
    expect(toA2AError(error).message).toBe('The agent behind this one cannot be reached.')
  })

  it.each([
    [{ a2a: { code: 'x' } }],
    [{ a2a: 7 }],
    [{ a2a: null }],
    [{ a2a: { code: -32001, data: 'x' } }],
    [{ a2a: { code: 1e9, data: [null, { reason: 7 }] } }],
  ])('a mesh error in A2A is converted with any details of a peer: %j', (details) => {
    expect(toA2AError(new MeshRefusal('NOT_FOUND', 'No.', details))).toBeInstanceOf(A2AError)
  })
})
