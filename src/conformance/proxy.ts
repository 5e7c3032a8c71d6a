import { isList, isObject, type JsonObject, sameJson } from '../core/base/json.ts'
import { checkOptions } from '../core/base/options.ts'
import {
  eventBody,
  eventTaskId,
  eventTypeOf,
  expectError,
  listOf,
  requireTask,
  sentMessage,
  sentTask,
} from './answers.ts'
import { type ConformanceOptions, conformance, conformanceChecks, judge, openOrigin } from './conformance.ts'
import { type Interface, interfacesOf, type Version } from './interface.ts'
import { type Check, type ConformanceReport, toReport } from './report.ts'
import { messageParams } from './requests.ts'
import type { Rule } from './rule.ts'
import { rules } from './rules.ts'
import type { ConformanceSession } from './session.ts'
import { expectThat, measureIf } from './verdict.ts'

const all: readonly Version[] = ['1.0', '0.3', '0.2', '0.1']
const since02: readonly Version[] = ['1.0', '0.3', '0.2']

/**
 * Judges a gateway by the proxy profile: it keeps every rule of A2A that the agent behind it keeps, and what passes
 * through it stays as it is. Sends real messages to both.
 *
 * @example
 * const report = await proxyConformance('https://gateway.example.com/old', 'https://old-agent.example')
 * console.log(report.failed('MUST'))
 */
export async function proxyConformance(
  through: string,
  origin: string,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  checkOptions('proxyConformance', options, conformanceChecks)
  const { rules: wanted, onCheck, ...shared } = options
  const direct = await openOrigin(origin, shared)
  try {
    const own = proxyRules(direct)
    const chosen = [...own, ...rules].filter(({ id }) => wanted?.includes(id) ?? true)
    const report = await judge(through, { ...shared }, chosen)
    const suspects = new Set(report.failed().map(({ rule }) => rule))
    for (const { id } of own) suspects.delete(id)
    // A rule that the agent itself breaks says nothing about the gateway.
    const atOrigin =
      suspects.size === 0 ? [] : (await conformance(origin, { ...shared, rules: [...suspects] })).failed()
    const broken = new Set(atOrigin.map(({ rule }) => rule))
    const checks = report.checks.map((check): Check => {
      if (check.outcome !== 'failed' || !broken.has(check.rule)) return check
      return { ...check, outcome: 'not measured', problem: 'The agent itself breaks this rule.' }
    })
    for (const [index, check] of checks.entries()) onCheck?.(check, { done: index + 1, total: checks.length })
    return toReport(report, checks)
  } finally {
    await direct.close()
  }
}

/** What only a proxy can break. `direct` speaks to the agent itself. */
function proxyRules(direct: ConformanceSession): readonly Rule[] {
  return [
    {
      id: 'proxy/card-addresses',
      level: 'MUST',
      versions: all,
      bindings: ['CARD'],
      title: 'The card names only addresses of the gateway.',
      sends: 'a request for the card',
      expects: 'no interface at an address of the agent, which would bypass the gateway',
      async check({ card, served }) {
        const hidden = hostsOf(direct.card, direct.served.url)
        const shown = [...hostsOf(card, served.url)].filter((host) => hidden.has(host))
        expectThat(shown.length === 0, `The card names ${shown.join(', ')}, where the agent itself is.`)
      },
    },
    {
      id: 'proxy/card-content',
      level: 'MUST',
      versions: all,
      bindings: ['CARD'],
      title: 'The card describes the agent: its name, version and skills.',
      sends: 'requests for both cards',
      expects: 'the same name, version and skill ids',
      async check({ card }) {
        for (const member of ['name', 'version']) {
          const [kept, original] = [card[member], direct.card[member]]
          expectThat(sameJson(kept, original), `${member} is ${JSON.stringify(kept)}, not ${JSON.stringify(original)}.`)
        }
        const [kept, original] = [skillsOf(card), skillsOf(direct.card)]
        expectThat(sameJson(kept, original), `The skills are ${kept.join(', ')}, not ${original.join(', ')}.`)
      },
    },
    {
      id: 'proxy/card-signatures',
      level: 'MUST',
      versions: all,
      bindings: ['CARD'],
      title: 'A changed card does not carry the signatures of the agent.',
      sends: 'requests for both cards',
      expects: 'no signature of the original card, or the original card itself',
      async check({ card }) {
        const original = listOf(direct.card.signatures)
        measureIf(original.length > 0, 'The card of the agent is not signed.')
        if (sameJson(card, direct.card)) return
        const kept = listOf(card.signatures).filter((each) => original.some((other) => sameJson(each, other)))
        expectThat(kept.length === 0, 'The card was changed and still has a signature of the agent, which is invalid.')
      },
    },
    {
      id: 'proxy/result-kind',
      level: 'MUST',
      versions: since02,
      title: 'A message is answered with what the agent answers: a task or a message.',
      sends: 'the same message to both',
      expects: 'the same kind of result, with the same text',
      async check(session) {
        const text = await session.text('message')
        const original = sentMessage(await direct.send({ text }), direct.wire.target)
        measureIf(original, 'The agent answers with a task.')
        const kept = sentMessage(await session.send({ text }), session.wire.target)
        expectThat(kept, 'The agent answers with a message, the gateway with something else.')
        const [got, expected] = [contentOf(kept), contentOf(original)]
        expectThat(sameJson(got, expected), `The message has ${JSON.stringify(got)}, not ${JSON.stringify(expected)}.`)
      },
    },
    {
      id: 'proxy/task-content',
      level: 'MUST',
      versions: all,
      title: 'A task has the state and the artifacts that it has at the agent.',
      sends: 'the same message to both',
      expects: 'the same state, and artifacts with the same content',
      async check(session) {
        const text = await session.text('task')
        const [one, two] = [await taskOf(direct, text), await taskOf(direct, text)]
        measureIf(
          one && two && sameJson(outcomeOf(one.wire), outcomeOf(two.wire)),
          'The agent answers differently every time.',
        )
        const kept = await taskOf(session, text)
        expectThat(kept, 'The agent answers with a task, the gateway with something else.')
        expectThat(kept.state === one.state, `The task is ${kept.state}, at the agent ${one.state}.`)
        const [got, expected] = [outcomeOf(kept.wire), outcomeOf(one.wire)]
        expectThat(
          sameJson(got, expected),
          `The artifacts have ${JSON.stringify(got)}, not ${JSON.stringify(expected)}.`,
        )
      },
    },
    {
      id: 'proxy/get-after-send',
      level: 'MUST',
      versions: all,
      title: 'A task that was started through the gateway is found there, unchanged.',
      sends: 'a get for a completed task',
      expects: 'the id and the artifacts of the answer to the message',
      async check(session) {
        const sent = await session.completedTask()
        const got = requireTask(await session.wire.call('get', { id: sent.id }), session.wire.target)
        expectThat(got.id === sent.id, `Expected the task ${sent.id}, got ${got.id}.`)
        expectThat(sameJson(outcomeOf(got.wire), outcomeOf(sent.wire)), 'The artifacts are others than in the answer.')
      },
    },
    {
      id: 'proxy/stream-events',
      level: 'MUST',
      versions: all,
      title: 'A stream has the chunks of the agent in their order: none is joined, split, lost or doubled.',
      sends: 'the same message to both, to be streamed',
      expects: 'artifact updates with the same content',
      async check(session) {
        measureIf(direct.has('streaming') && session.has('streaming'), 'One of them does not stream.')
        const text = await session.text('task')
        const [one, two] = [await chunksOf(direct, text), await chunksOf(direct, text)]
        measureIf(one.length > 0 && sameJson(one, two), 'The agent streams no chunks, or others every time.')
        const kept = await chunksOf(session, text)
        expectThat(sameJson(kept, one), `The chunks are ${JSON.stringify(kept)}, not ${JSON.stringify(one)}.`)
      },
    },
    {
      id: 'proxy/stream-live',
      level: 'MUST',
      versions: since02,
      title: 'Events are passed on when they come, not when the stream ends.',
      sends: 'a message whose task runs on, to be streamed',
      expects: 'an event while the task is running',
      async check(session) {
        measureIf(session.has('streaming'), 'The gateway does not stream.')
        const { wire } = session
        const params = messageParams({ text: await session.text('longRunning') }, wire.target)
        const stream = await wire.open('stream', params)
        try {
          const event = stream.isStream ? await stream.next() : undefined
          expectThat(event && !event.isError, 'No event came while the task was running.')
          const id = eventTaskId(event, wire.target)
          if (typeof id === 'string') await wire.call('cancel', { id })
        } finally {
          await stream.close()
        }
      },
    },
    {
      id: 'proxy/foreign-task',
      level: 'SHOULD',
      versions: since02,
      title: 'A task that was started at the agent itself is unknown to callers of the gateway.',
      sends: 'a get for a task of the agent',
      expects: 'TaskNotFound',
      async check({ wire }) {
        const { id } = await direct.completedTask()
        expectError({ exchange: await wire.call('get', { id }), name: 'TaskNotFound' }, wire.target)
      },
    },
  ]
}

function hostsOf(card: JsonObject, cardUrl: string): ReadonlySet<string> {
  const urls = [...interfacesOf(card, cardUrl).map(({ url }) => url), typeof card.url === 'string' ? card.url : '']
  return new Set(urls.flatMap((url) => (URL.canParse(url) ? [new URL(url).host] : [])))
}

const skillsOf = ({ skills }: JsonObject) => listOf(skills).map(({ id }) => `${id}`)

async function taskOf({ send, wire }: ConformanceSession, text: string) {
  return sentTask(await send({ text }), wire.target)
}

/** The content of parts, whatever the version calls them. Text that was written in pieces is one text. */
function contentOf({ parts, content }: JsonObject): readonly unknown[] {
  const values: unknown[] = []
  for (const part of listOf(parts ?? content)) {
    const { text, data, url, raw, file } = part
    const last = values.at(-1)
    if (typeof text === 'string' && typeof last === 'string') values[values.length - 1] = last + text
    else values.push(text ?? (isObject(data) && isObject(data.data) ? data.data : data) ?? url ?? raw ?? file)
  }
  return values
}

const outcomeOf = ({ artifacts }: JsonObject) => listOf(artifacts).map(contentOf)

async function chunksOf({ wire }: ConformanceSession, text: string): Promise<readonly unknown[]> {
  const stream = await wire.open('stream', messageParams({ text }, wire.target))
  const events = stream.isStream ? await stream.rest() : []
  await stream.close()
  return events.flatMap((event) => chunkOf(event, wire.target))
}

/** The chunk of an artifact update. Updates without content only end an artifact. */
function chunkOf(event: Parameters<typeof eventTypeOf>[0], target: Interface): readonly unknown[] {
  if (eventTypeOf(event, target) !== 'artifact') return []
  const { artifact } = eventBody(event, target)
  const chunk = isObject(artifact) ? contentOf(artifact) : []
  return isList(chunk) && chunk.some((value) => value !== '' && value !== undefined) ? [chunk] : []
}
