import { describe, expect, it } from 'vitest'
import type { Turn } from '../../../src/core/agent/turn.ts'
import type { Binding } from '../../../src/core/dialects/dialect.ts'
import type { DialectName } from '../../../src/core/dialects/versions.ts'
import { callOf, messageOf } from '../../support/agents/test-runtime.ts'
import { shareTestServer } from '../../support/servers/test-server.ts'
import { dialectBindings } from '../../support/wire/dialect-bindings.ts'
import { openService } from '../../support/wire/dialect-service.ts'

const profile = { name: 'Test', inputModes: ['*/*'] }

/** Turns every message into a task, whose history has the message. */
async function keep(turn: Turn): Promise<string> {
  await turn.status('working')
  return 'kept'
}

const shared = shareTestServer(keep, { profile, grpc: true })
const giving = shareTestServer(async () => ({ data: [1, { a: 2 }] }), { profile })
const withFiles = shareTestServer(keep, { profile, grpc: true, turns: { urlSchemes: ['https', 'file'] } })

interface Target {
  readonly dialect: DialectName
  readonly binding: Binding
  readonly path: string
  readonly version?: string
  readonly method?: string
  readonly kindMember: 'kind' | 'type'
}

/** Where JSON reaches the server as it is. */
const targets: readonly Target[] = [
  { dialect: 'v1.0', binding: 'JSONRPC', path: '/', version: '1.0', method: 'SendMessage', kindMember: 'kind' },
  { dialect: 'v1.0', binding: 'HTTP+JSON', path: '/message:send', version: '1.0', kindMember: 'kind' },
  { dialect: 'v0.3', binding: 'JSONRPC', path: '/', version: '0.3', method: 'message/send', kindMember: 'kind' },
  { dialect: 'v0.3', binding: 'HTTP+JSON', path: '/v1/message:send', kindMember: 'kind' },
  { dialect: 'v0.3-proto', binding: 'HTTP+JSON', path: '/v1/message:send', kindMember: 'kind' },
  { dialect: 'v0.3-house', binding: 'JSONRPC', path: '/api/a2a', method: 'message/send', kindMember: 'kind' },
  { dialect: 'v0.2', binding: 'JSONRPC', path: '/', version: '0.2', method: 'message/send', kindMember: 'kind' },
  { dialect: 'v0.1', binding: 'JSONRPC', path: '/', method: 'tasks/send', kindMember: 'type' },
]

function paramsOf(dialect: DialectName, part: object): object {
  const messageId = crypto.randomUUID()
  switch (dialect) {
    case 'v1.1':
    case 'v1.0':
      return { message: { messageId, role: 'ROLE_USER', parts: [part] } }
    case 'v0.3-proto':
      return { message: { messageId, role: 'ROLE_USER', content: [part] } }
    case 'v0.1':
      return { id: messageId, historyLength: 9, message: { role: 'user', parts: [part] } }
    case 'v0.2':
    case 'v0.3':
    case 'v0.3-house':
      return { message: { kind: 'message', messageId, role: 'user', parts: [part] } }
  }
}

/** The answer to a message with one part, as text. */
async function send({ dialect, path, version, method }: Target, part: object, { server } = shared()): Promise<string> {
  const params = paramsOf(dialect, part)
  const response = await fetch(`${server.url.replace(/\/$/, '')}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(version && { 'a2a-version': version }) },
    body: JSON.stringify(method ? { jsonrpc: '2.0', id: 1, method, params } : params),
  })
  return await response.text()
}

/** A data part in the form of the dialect. */
function dataPart({ dialect, kindMember }: Target, data: unknown): object {
  if (dialect === 'v1.0') return { data }
  return dialect === 'v0.3-proto' ? { data: { data } } : { [kindMember]: 'data', data }
}

describe.each(targets)('a part in $dialect over $binding', (target) => {
  const { dialect, kindMember } = target
  const isNewest = dialect === 'v1.0'

  it('a part of an unknown kind is rejected by its name', async () => {
    const answer = await send(target, { [kindMember]: 'video', text: 'x', uri: 'https://example.com/v' })
    expect(answer).toMatch(
      /(parts|content)\[0\]: expected \\"(kind|type)\\" to be one of text, file, data, got \\"video\\"/,
    )
  })

  it.each([null, 7, 'text', true])('the data %j is accepted where the version has it', async (data) => {
    const answer = await send(target, dataPart(target, data))
    if (isNewest) expect(answer).toContain(`"parts":[{"data":${JSON.stringify(data)}}]`)
    else expect(answer).toMatch(/(parts|content)\[0\]\.data(\.data)?: expected an object( or a list)?, got /)
  })

  it('a list as data stays a list where the version has it', async () => {
    const answer = await send(target, dataPart(target, [1, { a: 2 }]))
    if (dialect === 'v0.3-proto') expect(answer).toMatch(/content\[0\]\.data\.data: expected an object, got a list/)
    else expect(answer).toContain('"data":[1,{"a":2}]')
  })

  it('a list that the author gives as data is a list in 1.0, and in an object where the schema has objects only', async () => {
    const answer = await send(target, dataPart(target, {}), giving())
    if (isNewest) expect(answer).toContain('"data":[1,{"a":2}]')
    else expect(answer).toContain('"data":{"value":[1,{"a":2}]}')
  })
})

describe.each(dialectBindings)('the URL of a part in %s over %s', (...target) => {
  async function codeFor(url: string, { server } = shared()): Promise<string> {
    const service = await openService(server.url.replace(/\/$/, ''), ...target)
    const message = messageOf('', { parts: [{ url, filename: 'a.txt', mediaType: 'text/plain' }] })
    const error = await service.sendMessage({ message }, callOf()).then(
      () => ({ code: 'accepted', message: '' }),
      (thrown) => thrown,
    )
    if (error.code === 'invalid-params') expect(error.message).toMatch(/message\.(parts|content)\[0\]/)
    return error.code
  }

  it('absolute URLs of any scheme are accepted, except for files and scripts', async () => {
    for (const url of [
      ...['https://example.com/a', 'HTTP://example.com/a', 'data:text/plain,a', 'gs://bucket/a', 's3://bucket_1/a%20b'],
      ...[
        'urn:isbn:9780131103627',
        'ipfs://bafybeigdyrzt5',
        'tag:example.com,2026:a',
        'abfss://c@a.dfs.core.windows.net/x',
      ],
    ]) {
      expect([url, await codeFor(url)]).toEqual([url, 'accepted'])
    }
    for (const url of ['a.txt', '/a.txt', '//example.com/a', 'file:///etc/passwd', 'https://', 'javascript:1']) {
      expect([url, await codeFor(url)]).toEqual([url, 'invalid-params'])
    }
  })

  it('the operator chooses the schemes', async () => {
    expect(await codeFor('file:///srv/a', withFiles())).toBe('accepted')
    expect(await codeFor('http://example.com/a', withFiles())).toBe('invalid-params')
  })
})
