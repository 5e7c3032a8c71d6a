import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { toBase64 } from '../../base/base64.ts'
import type { Part, Task } from '../../protocol/model.ts'
import type { ClientDialect, PeerForm, ServerDialect } from '../dialect.ts'
import { v0_3ProtoClient } from './client.ts'
import { createProtoDialect, v0_3Proto } from './server.ts'

/** `User-Agent` of the SDKs: what they send by REST and by gRPC. */
const typescript = ['node', 'grpc-node-js/1.14.4', 'Mozilla/5.0 (X11; Linux x86_64)']
const others = ['python-httpx/0.28.1', 'grpc-python/1.80.0 grpc-c/53.0.0 (linux; chttp2)', 'Java-http-client/17.0.19']
const golang = ['Go-http-client/1.1', 'grpc-go/1.73.0']

const address = { taskId: 'T' }

/** Bytes that are no UTF-8, as base64. */
const binary = toBase64(new Uint8Array(256).map((_, index) => index))

/** The base64 of bytes that are a base64 text themselves. */
const looksEncoded = btoa('aGVsbG8gd29ybGQh')

const fileIn = (raw: string) => ({ fileWithBytes: raw })

const sendOf = (...files: object[]) => ({
  message: { messageId: 'm', role: 'ROLE_USER', content: files.map((file) => ({ file })) },
})

function taskWith(parts: readonly Part[]): Task {
  const status = { state: 'completed' } as const
  return { id: 'T', contextId: 'C', status, artifacts: [{ artifactId: 'A', parts }], history: [], generation: 0 }
}

function rawParts({ message }: { readonly message: { readonly parts: readonly Part[] } }) {
  return message.parts.map((part) => ('raw' in part ? part.raw : undefined))
}

function variantFor(userAgent: string, params: unknown = {}, dialect = v0_3Proto): ServerDialect {
  return dialect.callers?.forCaller({ userAgent, params }).dialect ?? dialect
}

function readFiles(userAgent: string, params: object, dialect = v0_3Proto) {
  return rawParts(variantFor(userAgent, params, dialect).decodeRequest.sendMessage(params))
}

function writtenFile(dialect: ServerDialect, raw = binary) {
  return dialect.encodeResult.getTask(taskWith([{ raw, filename: 'a.bin', metadata: { k: 1 } }]), address)
}

describe('the files of a caller', () => {
  it('the SDKs for Python, Go and Java write and read a base64 text', () => {
    for (const userAgent of [...others, ...golang, '', 'curl/8']) {
      expect(readFiles(userAgent, sendOf(fileIn(btoa(binary))))).toEqual([binary])
      expect(writtenFile(variantFor(userAgent))).toMatchObject({
        artifacts: [{ parts: [{ file: fileIn(btoa(binary)) }] }],
      })
    }
  })

  it('the SDK for TypeScript writes and reads the bytes, even if they are a base64 text', () => {
    for (const userAgent of typescript) {
      for (const raw of [binary, looksEncoded]) {
        expect(readFiles(userAgent, sendOf(fileIn(raw)))).toEqual([raw])
        expect(writtenFile(variantFor(userAgent), raw)).toMatchObject({
          artifacts: [{ parts: [{ file: fileIn(raw) }] }],
        })
      }
    }
  })

  it('any other caller is recognised by bytes that are no base64 text, and so are all files of its message', () => {
    for (const userAgent of ['', 'curl/8', 'python-httpx/0.28.1']) {
      const params = sendOf(fileIn(looksEncoded), fileIn(binary))
      expect(readFiles(userAgent, params)).toEqual([looksEncoded, binary])
      expect(writtenFile(variantFor(userAgent, params))).toMatchObject({
        artifacts: [{ parts: [{ file: fileIn(binary) }] }],
      })
    }
  })

  it('base64 texts are read in both alphabets and both spellings of the member, but no URLs, data or other texts', () => {
    const params = {
      request: {
        message_id: 'm',
        role: 'ROLE_USER',
        content: [
          { file: { file_with_bytes: btoa('-_-_').replace(/=+$/, ''), mime_type: 'image/png' } },
          { file: { fileWithUri: 'https://f' } },
          { data: { data: { fileWithBytes: btoa(binary) } } },
        ],
      },
    }
    const { message } = variantFor('python-httpx/0.28.1', params).decodeRequest.sendMessage(params)
    expect(message.parts).toEqual([
      { raw: '+/+/', mediaType: 'image/png' },
      { url: 'https://f' },
      { data: { fileWithBytes: btoa(binary) } },
    ])
  })

  it('the operator can pin the form for all callers', () => {
    for (const userAgent of [...typescript, ...others, '']) {
      const raw = createProtoDialect({ fileBytes: 'raw' })
      expect(readFiles(userAgent, sendOf(fileIn(looksEncoded)), raw)).toEqual([looksEncoded])
      const base64 = createProtoDialect({ fileBytes: 'base64' })
      expect(readFiles(userAgent, sendOf(fileIn(btoa(binary))), base64)).toEqual([binary])
    }
  })

  it('a malformed file is rejected with its field', () => {
    const params = sendOf({ fileWithBytes: '!' })
    expect(() => readFiles('python-httpx/0.28.1', params)).toThrow(/content\[0\].file.fileWithBytes: expected base64/)
  })
})

describe('the members that came after 0.3.0', () => {
  const carried = {
    parts: [{ file: fileIn(btoa(binary)) }],
    metadata: { 'a2a.partMembers': { 0: { name: 'a.bin', metadata: { k: 1 } } } },
  }
  const direct = { parts: [{ file: { ...fileIn(btoa(binary)), name: 'a.bin' }, metadata: { k: 1 } }] }

  it('only callers that know them, or that sent one, get them in their place', () => {
    const named = sendOf({ ...fileIn(btoa(binary)), name: 'x' })
    const annotated = { message: { ...sendOf().message, content: [{ text: 'x', metadata: { k: 1 } }] } }
    // Readers of the binary format skip members that they do not know.
    const isBinary = (userAgent: string) => userAgent.startsWith('grpc-')
    for (const userAgent of [...golang, ...others.filter(isBinary)]) {
      expect(writtenFile(variantFor(userAgent))).toMatchObject({ artifacts: [direct] })
    }
    for (const userAgent of [...others.filter((name) => !isBinary(name)), '']) {
      expect(writtenFile(variantFor(userAgent))).toMatchObject({ artifacts: [carried] })
      for (const params of [named, annotated]) {
        expect(writtenFile(variantFor(userAgent, params))).toMatchObject({ artifacts: [direct] })
      }
    }
    expect(writtenFile(variantFor('node'))).toMatchObject({ artifacts: [{ metadata: carried.metadata }] })
  })

  it('a message in any place of a result, an event or a page of tasks carries them', () => {
    const part: Part = { text: 'x', mediaType: 'text/markdown' }
    const message = { messageId: 'm', role: 'agent', parts: [part] } as const
    const task = { ...taskWith([part]), status: { state: 'working', message } as const, history: [message] }
    const metadata = { 'a2a.partMembers': { 0: { metadata: { 'a2a.mediaType': 'text/markdown' } } } }
    const content = [{ text: 'x' }]
    const taskOnTheWire = {
      status: { message: { content, metadata } },
      history: [{ content, metadata }],
      artifacts: [{ parts: content, metadata }],
    }
    const { encodeResult, encodeEvent } = variantFor('')
    expect(encodeResult.sendMessage({ type: 'task', task }, { message })).toMatchObject({ task: taskOnTheWire })
    const page = { tasks: [task], nextPageToken: '', pageSize: 1, totalSize: 1, withArtifacts: true }
    expect(encodeResult.listTasks(page, {})).toMatchObject({ tasks: [taskOnTheWire] })
    const ids = { taskId: 'T', contextId: 'C', generation: 0 }
    const { status, artifacts } = task
    const [artifact = { artifactId: '', parts: [] }] = artifacts
    const send = { message }
    expect(encodeEvent({ type: 'status', ...ids, status }, send)).toMatchObject([
      { statusUpdate: { status: taskOnTheWire.status } },
    ])
    expect(encodeEvent({ type: 'artifact', ...ids, artifact }, send)).toMatchObject([
      { artifactUpdate: { artifact: taskOnTheWire.artifacts[0] } },
    ])
    expect(encodeEvent({ type: 'message', message }, send)).toMatchObject([{ message: { content, metadata } }])
  })

  it('a value of another writer under the same key stays in the metadata', () => {
    for (const value of ['x', { 0: 'x' }, { 9: { name: 'x' } }, { 0: { other: 1 } }, { 0: { metadata: [] } }]) {
      const metadata = { 'a2a.partMembers': value }
      const params = { message: { ...sendOf(fileIn(btoa(binary))).message, metadata } }
      expect(variantFor('').decodeRequest.sendMessage(params).message).toMatchObject({ metadata })
    }
  })
})

describe('the files of a server', () => {
  const clientFor = (
    facts: Parameters<NonNullable<ClientDialect['servers']>['forServer']>[0],
    from = v0_3ProtoClient,
  ) => from.servers?.forServer(facts) ?? from
  const answer = (raw: string) => ({
    id: 'T',
    status: {},
    artifacts: [{ artifactId: 'A', parts: [{ file: fileIn(raw) }] }],
  })
  const formOf = ({ servers }: ClientDialect) => [
    servers?.form?.fileBytes,
    /^Files travel as .*\(\w+\), (.*)\.$/.exec(servers?.explanation ?? '')?.[1],
  ]

  it('the form is that of the majority, until the server shows another one', () => {
    expect(formOf(v0_3ProtoClient)).toEqual(['base64', 'as most agents of A2A 0.3 read and write them'])
    const express = clientFor({ headers: new Headers({ 'x-powered-by': 'Express' }) })
    expect(formOf(express)).toEqual(['raw', 'as the SDK of this web server reads and writes them'])
    expect(formOf(clientFor({ wire: answer(binary) }))).toEqual(['raw', 'as the files of this agent are written'])
    expect(clientFor({ wire: answer(btoa(binary)) })).toBe(v0_3ProtoClient)
    const grpc = clientFor({ headers: new Headers({ 'grpc-accept-encoding': 'identity,deflate,gzip' }) })
    expect(formOf(grpc)).toEqual(formOf(express))
    const python = clientFor({ headers: new Headers({ 'grpc-accept-encoding': 'identity, deflate, gzip' }) })
    expect(python).toBe(v0_3ProtoClient)
    const saying = clientFor({ headers: new Headers({ 'x-a2a-file-bytes': 'raw' }) })
    expect(formOf(saying)).toEqual(['raw', 'as this agent says in its answers'])
  })

  it('a stronger reason replaces a weaker one, and not the other way round', () => {
    const pinned = clientFor({ fileBytes: 'base64' })
    expect(formOf(clientFor({ wire: answer(binary), headers: new Headers({ server: 'uvicorn' }) }, pinned))).toEqual([
      'base64',
      'by the option fileBytes',
    ])
    const proven = clientFor({ wire: answer(binary) })
    expect(clientFor({ headers: new Headers({ server: 'uvicorn' }) }, proven)).toBe(proven)
  })

  it('a client sends new members over gRPC, and otherwise only to a server that has sent some', () => {
    const request = { message: { messageId: 'm', role: 'user', parts: [{ text: 'x', metadata: { k: 1 } }] } } as const
    const known = clientFor({ wire: { message: { content: [{ text: 'x', metadata: { k: 1 } }] } } })
    expect(v0_3ProtoClient.encodeRequest.sendMessage(request)).toMatchObject({
      message: { content: [{ text: 'x' }], metadata: { 'a2a.partMembers': { 0: { metadata: { k: 1 } } } } },
    })
    for (const client of [known, clientFor({ binding: 'GRPC' })]) {
      expect(client.encodeRequest.sendMessage(request)).toMatchObject({
        message: { content: [{ text: 'x', metadata: { k: 1 } }] },
      })
    }
  })
})

describe('any file', () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 60 }).map(toBase64),
    // Bytes that look like base64, once or twice.
    fc.base64String({ minLength: 4, maxLength: 40 }).map(btoa),
    fc.base64String({ minLength: 4, maxLength: 40 }).map((text) => btoa(btoa(text))),
  )
  const text = fc.string({ minLength: 1, maxLength: 5 })
  const part: fc.Arbitrary<Part> = fc
    .record(
      { raw: bytes, filename: text, mediaType: text, metadata: fc.dictionary(text, fc.integer(), { minKeys: 1 }) },
      { requiredKeys: ['raw'] },
    )
    // The keys of a null prototype are equal, but not the objects.
    .map(({ metadata, ...rest }) => ({ ...rest, ...(metadata && { metadata: { ...metadata } }) }))
  const parts = fc.array(part, { minLength: 1, maxLength: 3 })
  const forms = fc.constantFrom<PeerForm['fileBytes']>('raw', 'base64')
  const userAgents = fc.constantFrom('', ...typescript, ...others, ...golang)

  it('a file of our client arrives at our server as it was sent, whatever the form and the software', () => {
    fc.assert(
      fc.property(parts, forms, userAgents, (sent, fileBytes, userAgent) => {
        const client = v0_3ProtoClient.servers?.forServer({ fileBytes }) ?? v0_3ProtoClient
        const metadata = { k: 1 }
        const wire = client.encodeRequest.sendMessage({
          message: { messageId: 'm', role: 'user', parts: sent, metadata },
        })
        const { message } = variantFor(userAgent, wire).decodeRequest.sendMessage(wire)
        expect(message).toEqual({ messageId: 'm', role: 'user', parts: sent, metadata })
      }),
      { numRuns: 500 },
    )
  })

  it('a file of our server arrives at our client as it was written, whatever the software', () => {
    fc.assert(
      fc.property(parts, userAgents, (written, userAgent) => {
        const server = variantFor(userAgent)
        const wire = server.encodeResult.getTask(taskWith(written), address)
        const client =
          v0_3ProtoClient.servers?.forServer({ headers: new Headers(server.headers), wire }) ?? v0_3ProtoClient
        expect(client.decodeResult.getTask(wire, address)).toEqual(taskWith(written))
      }),
      { numRuns: 500 },
    )
  })

  it('a file of an SDK survives both ways in the form of that SDK', () => {
    const sdks = [...typescript.map((name) => [name, 'raw']), ...[...others, ...golang].map((name) => [name, 'base64'])]
    fc.assert(
      fc.property(bytes, fc.constantFrom(...sdks), (raw, [userAgent = '', form]) => {
        fc.pre(raw !== '')
        const params = sendOf(fileIn(form === 'raw' ? raw : btoa(raw)))
        expect(readFiles(userAgent, params)).toEqual([raw])
        const written = writtenFile(variantFor(userAgent, params), raw)
        expect(written).toMatchObject({ artifacts: [{ parts: [{ file: fileIn(form === 'raw' ? raw : btoa(raw)) }] }] })
      }),
      { numRuns: 500 },
    )
  })
})
