import { isObject } from '../../core/base/json.ts'
import { describe, detailsOf, errorInfoOf, rpcErrorOf } from '../answers.ts'
import { isCurrent, type Version } from '../interface.ts'
import type { Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'
import type { WireExchange } from '../wire.ts'
import { someText, unknownId } from './send.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const rpc = ['JSONRPC'] as const
const rest = ['HTTP+JSON'] as const
const grpc = ['GRPC'] as const

/** Rules about the form of requests, answers and errors in a binding. */
export const envelopeRules: readonly Rule[] = [
  {
    id: 'jsonrpc/envelope',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'An answer is a JSON-RPC 2.0 response.',
    sends: 'a message',
    expects: 'jsonrpc "2.0", and exactly one of result and error',
    async check(session) {
      const { json } = await session.send({ text: await someText(session) })
      expectThat(isObject(json) && json.jsonrpc === '2.0', 'The answer does not have jsonrpc: "2.0".')
      expectThat('result' in json !== 'error' in json, 'The answer does not have exactly one of result and error.')
    },
  },
  {
    id: 'jsonrpc/content-type',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'An answer has the content type application/json.',
    sends: 'a get for an unknown task',
    expects: 'application/json',
    async check({ wire }) {
      const type = (await wire.call('get', { id: unknownId() })).headers.get('content-type') ?? ''
      expectThat(/^application\/json\b/i.test(type), `The content type is ${type || 'missing'}.`)
    },
  },
  {
    id: 'jsonrpc/id-text',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'An answer has the id of its request, if it is a text.',
    sends: 'a get for an unknown task, with a text as the id',
    expects: 'the same text',
    async check({ wire }) {
      const { json } = await wire.call('get', { id: unknownId() }, { id: 'a text' })
      expectThat(isObject(json) && json.id === 'a text', `The id is ${JSON.stringify(isObject(json) && json.id)}.`)
    },
  },
  {
    id: 'jsonrpc/id-number',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'An answer has the id of its request, if it is a number.',
    sends: 'a get for an unknown task, with the number 7 as the id',
    expects: 'the number 7',
    async check({ wire }) {
      const { json } = await wire.call('get', { id: unknownId() }, { id: 7 })
      expectThat(isObject(json) && json.id === 7, `The id is ${JSON.stringify(isObject(json) && json.id)}.`)
    },
  },
  {
    id: 'jsonrpc/parse-error',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'A body that is not JSON is answered with the error -32700 and the id null.',
    sends: 'a body that ends too early',
    expects: 'the error -32700, and the id null',
    async check({ wire }) {
      const answer = await wire.raw({ method: 'POST', body: '{"jsonrpc":"2.0","id":1,' })
      expectRpcCode(answer, -32700)
      expectThat(isObject(answer.json) && answer.json.id === null, 'The id is not null.')
    },
  },
  {
    id: 'jsonrpc/invalid-request',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'JSON that is not a request is answered with the error -32600.',
    sends: 'a request without a method',
    expects: 'the error -32600',
    async check({ wire }) {
      expectRpcCode(await wire.raw({ method: 'POST', body: '{"jsonrpc":"2.0","id":1,"params":{}}' }), -32600)
    },
  },
  {
    id: 'jsonrpc/version',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'A request whose jsonrpc is not "2.0" is refused.',
    sends: 'a get with jsonrpc "1.0"',
    expects: 'the error -32600',
    async check({ wire }) {
      expectRpcCode(await wire.call('get', { id: unknownId() }, { envelope: { jsonrpc: '1.0' } }), -32600)
    },
  },
  {
    id: 'jsonrpc/unknown-method',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'An unknown method is answered with the error -32601.',
    sends: 'a method that no version has',
    expects: 'the error -32601',
    async check({ wire }) {
      expectRpcCode(await wire.call('get', {}, { envelope: { method: 'conformance/unknown' } }), -32601)
    },
  },
  {
    id: 'jsonrpc/params-type',
    level: 'MUST',
    versions: all,
    bindings: rpc,
    title: 'Params of a wrong type are refused.',
    sends: 'a get with a number as the id of the task',
    expects: 'the error -32602 or -32600, or TaskNotFound of a server that reads the number as a text',
    async check({ wire }) {
      const answer = await wire.call('get', { id: 7 })
      const code = rpcErrorOf(answer)?.code
      const isRefused = code === -32602 || code === -32600 || code === -32001
      expectThat(isRefused, `Expected the error -32602, got ${code === undefined ? describe(answer) : code}.`)
    },
  },
  {
    id: 'errors/message',
    level: 'MUST',
    versions: all,
    title: 'An error has a code and a message.',
    sends: 'a get for an unknown task',
    expects: 'a code that is a whole number, and a message that is not empty',
    async check({ wire }) {
      const answer = await unknownTask(wire)
      if (wire.target.binding === 'JSONRPC') {
        const error = rpcErrorOf(answer)
        expectThat(Number.isInteger(error?.code), `The code is ${JSON.stringify(error?.code)}.`)
        expectThat(typeof error?.message === 'string' && error.message !== '', 'The error has no message.')
        return
      }
      const body = isObject(answer.json) ? answer.json : {}
      const { message } = isObject(body.error) ? body.error : body
      expectThat(typeof message === 'string' && message !== '', 'The error has no message.')
    },
  },
  {
    id: 'errors/details',
    level: 'MUST',
    versions: ['1.0'],
    bindings: rpc,
    title: 'Details of an error are a list of objects with @type.',
    sends: 'a get for an unknown task',
    expects: 'no data, or a list of objects with @type',
    async check({ wire }) {
      const answer = await unknownTask(wire)
      if (rpcErrorOf(answer)?.data === undefined) return
      const details = detailsOf(answer)
      const isTyped = details?.every((detail) => isObject(detail) && typeof detail['@type'] === 'string')
      expectThat(isTyped, 'The details are not a list of objects with @type.')
    },
  },
  {
    id: 'errors/info',
    level: 'SHOULD',
    versions: ['1.0'],
    bindings: rpc,
    title: 'An error of A2A has an ErrorInfo with its reason.',
    sends: 'a get for an unknown task',
    expects: 'an ErrorInfo with the reason TASK_NOT_FOUND and the domain a2a-protocol.org',
    check: async ({ wire }) => expectErrorInfo(await unknownTask(wire)),
  },
  {
    id: 'rest/error-info',
    level: 'MUST',
    versions: ['1.0'],
    bindings: rest,
    title: 'An error of A2A has an ErrorInfo with its reason.',
    sends: 'a get for an unknown task',
    expects: 'an ErrorInfo with the reason TASK_NOT_FOUND and the domain a2a-protocol.org',
    check: async ({ wire }) => expectErrorInfo(await unknownTask(wire)),
  },
  {
    id: 'rest/error-status',
    level: 'MUST',
    versions: ['1.0'],
    bindings: rest,
    title: 'An error is a google.rpc.Status in JSON.',
    sends: 'a get for an unknown task',
    expects: 'error.code 404, error.status NOT_FOUND',
    async check({ wire }) {
      const error = rpcErrorOf(await unknownTask(wire))
      expectThat(error, 'The body has no member error.')
      expectThat(error.code === 404, `error.code is ${JSON.stringify(error.code)}.`)
      expectThat(error.status === 'NOT_FOUND', `error.status is ${JSON.stringify(error.status)}.`)
    },
  },
  {
    id: 'rest/content-type',
    level: 'SHOULD',
    versions: ['1.0'],
    bindings: rest,
    title: 'An answer has the content type application/a2a+json.',
    sends: 'a message',
    expects: 'application/a2a+json',
    async check(session) {
      const type = (await session.send({ text: await someText(session) })).headers.get('content-type') ?? ''
      expectThat(/^application\/a2a\+json\b/i.test(type), `The content type is ${type || 'missing'}.`)
    },
  },
  {
    id: 'rest/json',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: rest,
    title: 'An answer has a JSON content type.',
    sends: 'a message',
    expects: 'application/json or application/a2a+json',
    async check(session) {
      const type = (await session.send({ text: await someText(session) })).headers.get('content-type') ?? ''
      expectThat(/^application\/(a2a\+)?json\b/i.test(type), `The content type is ${type || 'missing'}.`)
    },
  },
  {
    id: 'rest/parse-error',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: rest,
    title: 'A body that is not JSON is refused.',
    sends: 'a body that ends too early',
    expects: 'HTTP 400',
    async check({ wire }) {
      const path = isCurrent(wire.target.version) ? '/message:send' : '/v1/message:send'
      const { status } = await wire.raw({ method: 'POST', path, body: '{"message":' })
      expectThat(status === 400, `Got HTTP ${status}.`)
    },
  },
  {
    id: 'rest/unknown-path',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: rest,
    title: 'An unknown path is answered with HTTP 404.',
    sends: 'a GET of a path that no version has',
    expects: 'HTTP 404',
    async check({ wire }) {
      const { status } = await wire.raw({ method: 'GET', path: '/conformance/unknown/path' })
      expectThat(status === 404, `Got HTTP ${status}.`)
    },
  },
  {
    id: 'grpc/content-type',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: grpc,
    title: 'An answer has the content type application/grpc.',
    sends: 'a message',
    expects: 'HTTP 200 and application/grpc, application/grpc+proto or another of its forms',
    async check(session) {
      const { status, headers } = await session.send({ text: await someText(session) })
      const type = headers.get('content-type') ?? ''
      expectThat(status === 200, `Got HTTP ${status}.`)
      expectThat(/^application\/grpc(\+|;|$)/i.test(type), `The content type is ${type || 'missing'}.`)
    },
  },
  {
    id: 'grpc/status',
    level: 'MUST',
    versions: ['1.0', '0.3'],
    bindings: grpc,
    title: 'Every call ends with a status.',
    sends: 'a message, and a get for an unknown task',
    expects: 'grpc-status in the trailers',
    async check(session) {
      const answers = [
        await session.send({ text: await someText(session) }),
        await session.wire.call('get', { id: unknownId() }),
      ]
      for (const { grpcStatus } of answers) expectThat(grpcStatus !== undefined, 'The call has no grpc-status.')
    },
  },
  {
    id: 'grpc/error-info',
    level: 'MUST',
    versions: ['1.0'],
    bindings: grpc,
    title: 'An error of A2A has an ErrorInfo with its reason.',
    sends: 'a get for an unknown task',
    expects: 'grpc-status-details-bin with an ErrorInfo of the domain a2a-protocol.org',
    check: async ({ wire }) => expectErrorInfo(await unknownTask(wire)),
  },
]

async function unknownTask(wire: ConformanceSession['wire']): Promise<WireExchange> {
  const answer = await wire.call('get', { id: unknownId() })
  measureIf(answer.isError, 'The agent answered without an error.')
  return answer
}

function expectRpcCode(answer: WireExchange, code: number): void {
  const actual = rpcErrorOf(answer)?.code
  expectThat(actual === code, `Expected the error ${code}, got ${actual === undefined ? describe(answer) : actual}.`)
}

function expectErrorInfo(answer: WireExchange): void {
  const info = errorInfoOf(answer)
  expectThat(info, 'The error has no google.rpc.ErrorInfo.')
  expectThat(info.reason === 'TASK_NOT_FOUND', `The reason is ${JSON.stringify(info.reason)}.`)
  expectThat(info.domain === 'a2a-protocol.org', `The domain is ${JSON.stringify(info.domain)}.`)
}
