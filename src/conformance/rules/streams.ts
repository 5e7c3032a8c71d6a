import { isObject, type JsonObject } from '../../core/base/json.ts'
import {
  describe,
  eventBody,
  eventState,
  eventTaskId,
  eventTypeOf,
  expectError,
  isInterrupted,
  isTerminal,
  listOf,
  openingError,
  requireTask,
  taskAnswer,
} from '../answers.ts'
import { type Interface, isCurrent, type Version } from '../interface.ts'
import { messageParams } from '../requests.ts'
import { jsonBindings, type Rule } from '../rule.ts'
import type { ConformanceSession } from '../session.ts'
import { expectThat, measureIf } from '../verdict.ts'
import type { OpenStream, StreamEvent } from '../wire.ts'
import { someText, unknownId } from './send.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const since02: readonly Version[] = ['1.0', '0.3', '0.2']

/** Rules about streams of a message and of a task. */
export const streamRules: readonly Rule[] = [
  {
    id: 'stream/opens',
    level: 'MUST',
    versions: all,
    bindings: jsonBindings,
    title: 'A streamed message is answered with server-sent events.',
    sends: 'a message, to be streamed',
    expects: 'HTTP 200 and the content type text/event-stream',
    async check(session) {
      requireStreaming(session)
      const stream = await openStream(session, await someText(session))
      await stream.close()
      const type = stream.exchange.headers.get('content-type')
      expectThat(stream.isStream && stream.exchange.status === 200, `Got HTTP ${stream.exchange.status}, ${type}.`)
    },
  },
  {
    id: 'stream/first-event',
    level: 'MUST',
    versions: ['1.0'],
    title: 'The first event of a stream is the task, or a message.',
    sends: 'a message whose task completes, to be streamed',
    expects: 'a task as the first event',
    async check(session) {
      const [first] = await streamed(session, await session.text('task'))
      measureIf(first, 'The stream has no events.')
      const type = eventTypeOf(first, session.wire.target)
      expectThat(type === 'task' || type === 'message', `The first event is ${type ?? 'of no known type'}.`)
    },
  },
  {
    id: 'stream/event-types',
    level: 'MUST',
    versions: all,
    title: 'Each event has exactly one object of the protocol.',
    sends: 'a message whose task completes, to be streamed',
    expects: 'events with one of task, message, status update, artifact update (0.1: status or artifact)',
    async check(session) {
      for (const event of await streamed(session, await session.text('task'))) {
        const type = eventTypeOf(event, session.wire.target)
        expectThat(type, `An event is none of them: ${JSON.stringify(event.json)?.slice(0, 200)}`)
      }
    },
  },
  {
    id: 'stream/one-task',
    level: 'MUST',
    versions: all,
    title: 'All events of a stream belong to its task.',
    sends: 'a message whose task completes, to be streamed',
    expects: 'the same task id in all events',
    async check(session) {
      const events = await streamed(session, await session.text('task'))
      const ids = new Set(
        events
          .filter((event) => !['message', undefined].includes(eventTypeOf(event, session.wire.target)))
          .map((event) => eventTaskId(event, session.wire.target)),
      )
      expectThat(ids.size <= 1, `The events belong to several tasks: ${[...ids].join(', ')}.`)
    },
  },
  {
    id: 'stream/ends',
    level: 'MUST',
    versions: all,
    title: 'A stream ends with the terminal state of its task.',
    sends: 'a message whose task completes, to be streamed',
    expects: 'a last event with a terminal state, and the end of the stream',
    async check(session) {
      const { target } = session.wire
      const events = await streamed(session, await session.text('task'))
      const last = events.findLast((event) => ['task', 'status'].includes(`${eventTypeOf(event, target)}`))
      measureIf(last, 'The stream has no task.')
      const state = eventState(last, target)
      expectThat(isTerminal(state) || isInterrupted(state), `The stream ended in the state ${state}.`)
    },
  },
  {
    id: 'stream/complete',
    level: 'MUST',
    versions: ['1.0', '0.3', '0.2'],
    title: 'The events of a stream add up to the artifacts of the task, in order.',
    sends: 'a message whose task completes, to be streamed, and a get for the task',
    expects: 'the same text in both',
    async check(session) {
      const { target, call } = session.wire
      const events = await streamed(session, await session.text('task'))
      const id = events.map((event) => eventTaskId(event, target)).find((each) => typeof each === 'string')
      measureIf(typeof id === 'string', 'The stream has no task.')
      const streamedText = textOfEvents(events, target)
      measureIf(streamedText.size > 0, 'The stream has no artifacts.')
      const { wire } = requireTask(await call('get', { id }), target)
      const stored = new Map(listOf(wire.artifacts).map((artifact) => [`${artifact.artifactId}`, textOf(artifact)]))
      for (const [artifactId, text] of streamedText) {
        const problem = `The artifact ${artifactId} is ${JSON.stringify(text)} in the stream, but not in the task.`
        expectThat(stored.get(artifactId) === text, problem)
      }
      expectThat(stored.size === streamedText.size, 'The task has artifacts that the stream did not have.')
    },
  },
  {
    id: 'stream/immediate',
    level: 'MUST',
    versions: since02,
    title: 'A stream starts while the agent still works.',
    sends: 'a message whose task works for a long time, to be streamed',
    expects: 'an event before the task has ended',
    async check(session) {
      requireStreaming(session)
      const stream = await openStream(session, await session.text('longRunning'))
      measureIf(stream.isStream, 'The agent did not open a stream.')
      const first = await stream.next().catch(() => undefined)
      await stream.close()
      expectThat(first, 'No event came while the agent worked.')
      const id = eventTaskId(first, session.wire.target)
      if (typeof id === 'string') await session.wire.call('cancel', { id })
      const state = eventState(first, session.wire.target)
      expectThat(!isTerminal(state), `The first event already has the state ${state}.`)
    },
  },
  {
    id: 'stream/final',
    level: 'MUST',
    versions: ['0.3', '0.2', '0.1'],
    bindings: ['JSONRPC'],
    title: 'The last status event of a stream is marked as final.',
    sends: 'a message whose task completes, to be streamed',
    expects: 'final true in the last status event, and in no other',
    async check(session) {
      const { target } = session.wire
      const events = await streamed(session, await session.text('task'))
      const statuses = events.filter((event) => eventTypeOf(event, target) === 'status')
      measureIf(statuses.length > 0, 'The stream has no status events.')
      const marks = statuses.map((event) => eventBody(event, target).final === true)
      expectThat(marks.at(-1), 'The last status event does not have final: true.')
      expectThat(!marks.slice(0, -1).includes(true), 'An earlier status event has final: true.')
    },
  },
  {
    id: 'stream/message',
    level: 'MUST',
    versions: since02,
    title: 'A stream with a message has nothing else.',
    sends: 'a message that is answered without a task, to be streamed',
    expects: 'exactly one event with a message, and the end of the stream',
    async check(session) {
      const events = await streamed(session, await session.text('message'))
      const types = events.map((event) => eventTypeOf(event, session.wire.target) ?? 'unknown')
      measureIf(types.includes('message'), 'The stream has no message.')
      expectThat(types.length === 1, `The stream has the events ${types.join(', ')}.`)
    },
  },
  {
    id: 'stream/envelope',
    level: 'MUST',
    versions: all,
    bindings: ['JSONRPC'],
    title: 'Each event is a JSON-RPC response with the id of the request.',
    sends: 'a message, to be streamed',
    expects: 'jsonrpc "2.0" and the id of the request in every event',
    async check(session) {
      requireStreaming(session)
      const stream = await openStream(session, await someText(session))
      measureIf(stream.isStream, 'The agent did not open a stream.')
      const events = await stream.rest()
      for (const { json } of events) {
        expectThat(isObject(json) && json.jsonrpc === '2.0', 'An event does not have jsonrpc: "2.0".')
        expectThat(json.id === stream.exchange.id, `An event has the id ${JSON.stringify(json.id)}.`)
      }
    },
  },
  {
    id: 'stream/unsupported',
    level: 'MUST',
    versions: since02,
    title: 'An agent without streaming refuses streams.',
    sends: 'a message, to be streamed by an agent whose card declares no streaming',
    expects: 'UnsupportedOperation',
    async check(session) {
      measureIf(!session.has('streaming'), 'The agent declares streaming.')
      const exchange = await openingError(await openStream(session, await someText(session)))
      expectError({ exchange, name: 'UnsupportedOperation' }, session.wire.target)
    },
  },
  {
    id: 'subscribe/first-event',
    level: 'MUST',
    versions: ['1.0'],
    title: 'The first event of a subscription is the task.',
    sends: 'a subscription to a task that works',
    expects: 'the task as the first event',
    async check(session) {
      requireStreaming(session)
      const { id } = await session.runningTask()
      const stream = await session.wire.open('subscribe', { id })
      const first = await stream.next()
      await stream.close()
      expectThat(first, `Expected a stream, got ${describe(stream.exchange)}.`)
      const type = eventTypeOf(first, session.wire.target)
      expectThat(type === 'task', `The first event is ${type ?? 'of no known type'}.`)
      expectThat(taskAnswer(eventBody(first, session.wire.target), session.wire.target)?.id === id, 'Another task.')
    },
  },
  {
    id: 'subscribe/ends',
    level: 'MUST',
    versions: since02,
    title: 'A subscription ends with the terminal state of its task.',
    sends: 'a subscription to a task that works, and a cancel',
    expects: 'a last event with a terminal state, and the end of the stream',
    async check(session) {
      requireStreaming(session)
      const { target } = session.wire
      const { id } = await session.runningTask()
      const stream = await session.wire.open('subscribe', { id })
      const first = await stream.next()
      measureIf(first && !first.isError, 'The task cannot be subscribed to.')
      await session.wire.call('cancel', { id })
      const last = (await stream.rest()).findLast((event) => eventState(event, target) !== undefined)
      expectThat(last && isTerminal(eventState(last, target)), 'The stream ended before a terminal state.')
    },
  },
  {
    id: 'subscribe/all-streams',
    level: 'MUST',
    versions: ['1.0'],
    title: 'All streams of a task have the same events, also after one was closed.',
    sends: 'three subscriptions to a task that works, the end of one of them, and a cancel',
    expects: 'the same events in the other two',
    async check(session) {
      requireStreaming(session)
      const { id } = await session.runningTask()
      const streams = [1, 2, 3].map(() => session.wire.open('subscribe', { id }))
      const [closed, one, other] = await Promise.all(streams)
      measureIf(closed && one && other, 'The task cannot be subscribed to.')
      const firsts = [await closed.next(), await one.next(), await other.next()]
      measureIf(
        firsts.every((event) => event && !event.isError),
        'The task cannot be subscribed to.',
      )
      await closed.close()
      await session.wire.call('cancel', { id })
      const [ofOne, ofOther] = await Promise.all([one.rest(), other.rest()])
      const text = (events: readonly StreamEvent[]) => JSON.stringify(events.map(({ result }) => result))
      expectThat(text(ofOne) === text(ofOther), 'The streams have different events.')
      expectThat(ofOne.length > 0, 'The streams ended without an event.')
    },
  },
  {
    id: 'subscribe/terminal',
    level: 'MUST',
    versions: ['1.0'],
    title: 'A subscription to a task that has ended is refused.',
    sends: 'a subscription to a completed task',
    expects: 'UnsupportedOperation',
    async check(session) {
      requireStreaming(session)
      const { id } = await session.completedTask()
      const exchange = await openingError(await session.wire.open('subscribe', { id }))
      expectError({ exchange, name: 'UnsupportedOperation' }, session.wire.target)
    },
  },
  {
    id: 'subscribe/unknown',
    level: 'MUST',
    versions: since02,
    title: 'A subscription to a task that does not exist is refused.',
    sends: 'a subscription with an unknown id',
    expects: 'TaskNotFound (0.x: any error)',
    async check(session) {
      requireStreaming(session)
      const exchange = await openingError(await session.wire.open('subscribe', { id: unknownId() }))
      if (isCurrent(session.wire.target.version)) expectError({ exchange, name: 'TaskNotFound' }, session.wire.target)
      expectThat(exchange.isError, `Expected an error, got ${describe(exchange)}.`)
    },
  },
]

function requireStreaming(session: ConformanceSession): void {
  measureIf(session.has('streaming'), 'The card declares no streaming.')
}

function openStream({ wire }: ConformanceSession, text: string): Promise<OpenStream> {
  return wire.open('stream', messageParams({ text }, wire.target))
}

/** All events of a stream. Throws a `NotMeasured` if there is none: another rule judges that. */
async function streamed(session: ConformanceSession, text: string): Promise<readonly StreamEvent[]> {
  requireStreaming(session)
  const stream = await openStream(session, text)
  measureIf(stream.isStream, `The agent did not open a stream: ${describe(stream.exchange)}.`)
  return await stream.rest()
}

/** The text of each artifact of a stream, by its id. */
function textOfEvents(events: readonly StreamEvent[], target: Interface): ReadonlyMap<string, string> {
  const texts = new Map<string, string>()
  for (const event of events) {
    const body = eventBody(event, target)
    for (const artifact of listOf(body.artifacts)) texts.set(`${artifact.artifactId}`, textOf(artifact))
    const { artifact } = body
    if (!isObject(artifact)) continue
    const id = `${artifact.artifactId}`
    texts.set(id, `${body.append === true ? (texts.get(id) ?? '') : ''}${textOf(artifact)}`)
  }
  return texts
}

function textOf({ parts }: JsonObject): string {
  return listOf(parts)
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .join('')
}
