import { isList, isObject } from '../../core/base/json.ts'
import { describe, expectError, listOf, rpcErrorOf } from '../answers.ts'
import { isCurrent, requiredExtensions, type Version } from '../interface.ts'
import { messageParams } from '../requests.ts'
import { jsonBindings, type Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'
import type { WireExchange } from '../wire.ts'
import { someText, unknownId } from './send.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']

/** Rules about what a caller must present: credentials, extensions, versions. */
export const accessRules: readonly Rule[] = [
  {
    id: 'extended-card/unsupported',
    level: 'MUST',
    versions: ['1.0'],
    title: 'An agent without an extended card refuses it.',
    sends: 'a request for the extended card of an agent whose card declares none',
    expects: 'UnsupportedOperation',
    async check(session) {
      measureIf(!session.has('extendedAgentCard'), 'The agent declares an extended card.')
      const exchange = await session.wire.call('extended-card', {})
      expectError({ exchange, name: 'UnsupportedOperation' }, session.wire.target)
    },
  },
  {
    id: 'extended-card/fetched',
    level: 'MUST',
    versions: ['1.0'],
    title: 'An agent that declares an extended card sends it to authenticated callers.',
    sends: 'a request for the extended card, with the credentials of the suite',
    expects: 'a card with a name and its interfaces',
    async check(session) {
      measureIf(session.has('extendedAgentCard'), 'The agent declares no extended card.')
      measureIf(session.credentialNames.length > 0, 'The suite has no credentials, which an extended card requires.')
      const answer = await session.wire.call('extended-card', {})
      const { name, supportedInterfaces } = isObject(answer.result) ? answer.result : {}
      const isCard = typeof name === 'string' && name !== '' && isList(supportedInterfaces)
      expectThat(!answer.isError && isCard, `Expected an agent card, got ${describe(answer)}.`)
    },
  },
  {
    id: 'extensions/required',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A caller that does not announce a required extension is refused.',
    sends: 'a message without A2A-Extensions, to an agent whose card requires an extension',
    expects: 'ExtensionSupportRequired',
    async check(session) {
      measureIf(requiredExtensions(session.card).length > 0, 'The card requires no extension.')
      const params = messageParams({ text: await someText(session) }, session.wire.target)
      const exchange = await session.wire.call('send', params, { headers: { 'a2a-extensions': undefined } })
      expectError({ exchange, name: 'ExtensionSupportRequired' }, session.wire.target)
    },
  },
  {
    id: 'extensions/unknown',
    level: 'SHOULD',
    versions: ['1.0', '0.3'],
    title: 'An extension that the agent does not know is ignored.',
    sends: 'a message that announces an extension of the suite',
    expects: 'the same answer as without it',
    async check(session) {
      const { target } = session.wire
      const uris = [...requiredExtensions(session.card), 'https://example.com/conformance/unknown-extension']
      const name = isCurrent(target.version) ? 'a2a-extensions' : 'x-a2a-extensions'
      const params = messageParams({ text: await someText(session) }, target)
      const answer = await session.wire.call('send', params, { headers: { [name]: uris.join(', ') } })
      expectThat(!answer.isError, `Expected an answer, got ${describe(answer)}.`)
    },
  },
  {
    id: 'version/unsupported',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A version that the server does not support is refused.',
    sends: 'a message with A2A-Version 9.9',
    expects: 'VersionNotSupported',
    async check(session) {
      const exchange = await sendAs(session, '9.9')
      expectError({ exchange, name: 'VersionNotSupported' }, session.wire.target)
    },
  },
  {
    id: 'version/patch',
    level: 'MUST',
    versions: ['1.0'],
    title: 'The patch number of a version does not matter.',
    sends: 'a message with A2A-Version 1.0.1',
    expects: 'the same answer as with 1.0',
    async check(session) {
      const answer = await sendAs(session, '1.0.1')
      expectThat(!answer.isError, `Expected an answer, got ${describe(answer)}.`)
    },
  },
  {
    id: 'version/absent',
    level: 'MAY',
    versions: ['1.0'],
    title: 'A request without A2A-Version is read as one of 0.3.',
    sends: 'a get for an unknown task, without A2A-Version',
    expects: 'an error of A2A; an agent that reads the request as 1.0 is noted (§3.6.2)',
    async check({ wire }) {
      const answer = await wire.call('get', { id: unknownId() }, { headers: { 'a2a-version': undefined } })
      const { status, grpcStatus, isError } = answer
      const code = rpcErrorOf(answer)?.code
      const isFault = status >= 500 || code === -32603 || ['INTERNAL', 'UNKNOWN'].includes(`${grpcStatus}`)
      expectThat(isError && !isFault, `Expected an error of A2A, got ${describe(answer)}.`)
      const isRead = code === -32001 || status === 404 || grpcStatus === 'NOT_FOUND'
      if (isRead) return 'The agent reads a request without A2A-Version as 1.0. A2A 1.0 §3.6.2 reads it as 0.3.'
    },
  },
  {
    id: 'auth/other-get',
    level: 'MUST',
    versions: all,
    title: "A caller cannot read another caller's task.",
    sends: "a get for a completed task, with a second caller's credentials",
    expects: 'an error, as for a task that does not exist',
    async check(session) {
      const { id } = await session.completedTask()
      const answer = await session.wire.call('get', { id }, { headers: otherCaller(session) })
      expectThat(answer.isError, `Expected an error, got ${describe(answer)}.`)
    },
  },
  {
    id: 'auth/other-cancel',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    title: "A caller cannot cancel another caller's task.",
    sends: "a cancel for a waiting task, with a second caller's credentials",
    expects: 'an error',
    async check(session) {
      const headers = otherCaller(session)
      const { id } = await session.waitingTask()
      const answer = await session.wire.call('cancel', { id }, { headers })
      expectThat(answer.isError, `Expected an error, got ${describe(answer)}.`)
    },
  },
  {
    id: 'auth/other-list',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A list has no task of another caller.',
    sends: "a list for the context of a completed task, with a second caller's credentials",
    expects: 'no task of this context, or an error',
    async check(session) {
      const headers = otherCaller(session)
      const { contextId } = await session.completedTask()
      measureIf(contextId !== undefined, 'The agent sends no context ids.')
      const { result } = await session.wire.call('list', { contextId }, { headers })
      const tasks = listOf(isObject(result) ? result.tasks : [])
      expectThat(tasks.length === 0, `The list has ${tasks.length} tasks of another caller.`)
    },
  },
  {
    id: 'auth/refused',
    level: 'MUST',
    versions: all,
    title: 'A request without credentials is refused, if the card requires them.',
    sends: 'a get for an unknown task, without the credentials of the suite',
    expects: 'HTTP 401 or 403 (gRPC: UNAUTHENTICATED or PERMISSION_DENIED)',
    async check(session) {
      measureIf(session.credentialNames.length > 0, 'The suite has no credentials, so it cannot leave them out.')
      expectRefusal(await withCredentials(session, () => undefined))
    },
  },
  {
    id: 'auth/invalid',
    level: 'MUST',
    versions: all,
    title: 'A request with wrong credentials is refused, if the card requires them.',
    sends: 'a get for an unknown task, with credentials that do not exist',
    expects: 'HTTP 401 or 403 (gRPC: UNAUTHENTICATED or PERMISSION_DENIED)',
    async check(session) {
      measureIf(session.credentialNames.length > 0, 'The suite has no credentials, so it cannot send wrong ones.')
      expectRefusal(await withCredentials(session, () => 'Bearer conformance-wrong-credentials'))
    },
  },
  {
    id: 'auth/challenge',
    level: 'SHOULD',
    versions: all,
    bindings: jsonBindings,
    title: 'A refusal for missing credentials says which are expected.',
    sends: 'a get for an unknown task, without the credentials of the suite',
    expects: 'HTTP 401 with the header WWW-Authenticate',
    async check(session) {
      measureIf(session.credentialNames.length > 0, 'The suite has no credentials, so it cannot leave them out.')
      const answer = await withCredentials(session, () => undefined)
      measureIf(answer.status === 401, 'The request was not refused with HTTP 401.')
      expectThat(answer.headers.has('www-authenticate'), 'The answer has no WWW-Authenticate.')
    },
  },
]

/** The headers of the second caller, in place of those of the suite. */
function otherCaller({ credentialNames, otherHeaders }: ConformanceSession) {
  measureIf(otherHeaders, 'The suite has no credentials of a second caller (--other-bearer).')
  return { ...Object.fromEntries(credentialNames.map((name) => [name, undefined])), ...otherHeaders }
}

async function sendAs(session: ConformanceSession, version: string): Promise<WireExchange> {
  const params = messageParams({ text: await someText(session) }, session.wire.target)
  return await session.wire.call('send', params, { headers: { 'a2a-version': version } })
}

/** A get with other credentials than those of the suite. */
function withCredentials(
  { wire, credentialNames }: ConformanceSession,
  value: () => string | undefined,
): Promise<WireExchange> {
  const headers = Object.fromEntries(credentialNames.map((name) => [name, value()]))
  return wire.call('get', { id: unknownId() }, { headers })
}

function expectRefusal(answer: WireExchange): void {
  const { status, grpcStatus } = answer
  const isRefused =
    grpcStatus === undefined
      ? status === 401 || status === 403
      : grpcStatus === 'UNAUTHENTICATED' || grpcStatus === 'PERMISSION_DENIED'
  expectThat(isRefused, `Expected HTTP 401 or 403, or UNAUTHENTICATED, got ${describe(answer)}.`)
}
