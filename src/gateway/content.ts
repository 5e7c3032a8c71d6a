import { RE2JS } from 're2js'
import { isList, isObject, type Json, type JsonObject } from '../core/base/json.ts'
import { aFunction, group, integer, listOf, type OptionCheck, text } from '../core/base/options.ts'
import type { StreamEvent } from '../core/protocol/events.ts'
import { type Interceptor, intercept, type UnaryNext } from '../core/protocol/intercept.ts'
import type { Artifact, Message, Part, Principal, Task } from '../core/protocol/model.ts'
import type { Call, RequestOf, ResultOf, SendRequest, Service, UnaryOperation } from '../core/protocol/service.ts'
import { isEnded, isInterrupted } from '../core/protocol/states.ts'

/** Rules about the content of messages and answers. Throw an `A2AError` to reject. */
export interface ContentRules {
  /** Called with every message of a caller before it is stored or forwarded. Returns another one to replace it. */
  readonly onMessage?: ContentHook<Message>
  /**
   * Called with every event and task of the agent before it is stored or sent. Returns another one to replace it. A task
   * or message that answers a call is an event too.
   */
  readonly onEvent?: ContentHook<StreamEvent>
  /** Patterns that are replaced in text parts, string values of data parts and file names, in both directions. */
  readonly redact?: readonly RedactedPattern[]
}

// biome-ignore lint/suspicious/noConfusingVoidType: a hook that only inspects returns nothing.
export type ContentHook<T> = (value: T, context: ContentContext) => T | undefined | void | Promise<T | undefined | void>

/** What a hook knows about the content. */
export interface ContentContext {
  /** The agent by its name in the gateway. */
  readonly agent: string
  /** The caller. Only for messages: events are stored, and read by others later. */
  readonly principal?: Principal
}

/** A pattern whose matches are replaced by `[redacted: name]`. */
export interface RedactedPattern {
  readonly name: string
  /** In the syntax of RE2, which is matched in linear time. `(?i)` at its begin ignores case. */
  readonly pattern: string
  /** Maximum characters of a match. Streams hold back as many, to recognise a match in several chunks. Defaults to 256. */
  readonly maxLength?: number
}

const patternCheck: OptionCheck = (value, name) => {
  text(value, name)
  try {
    RE2JS.compile(`${value}`)
  } catch (error) {
    throw new TypeError(
      `${name}: expected a pattern in the syntax of RE2: ${error instanceof Error ? error.message : error}.`,
    )
  }
}

export const contentCheck: OptionCheck = group<ContentRules>({
  onMessage: aFunction,
  onEvent: aFunction,
  redact: listOf(group<RedactedPattern>({ name: text, pattern: patternCheck, maxLength: integer({ min: 1 }) })),
})

/** The content rules of one agent. */
export interface Content {
  /** Applies the rules to messages of callers. */
  readonly messages: Interceptor
  /** Applies the rules to what the agent answers. Its streams have no numbers then: events are held back and changed. */
  around(service: Service): Service
  event(event: StreamEvent): Promise<StreamEvent>
  /** Applies the rules to an answer that is not an event yet. */
  parts(parts: readonly Part[]): Promise<readonly Part[]>
  /** How often each pattern was replaced. */
  counts(): Readonly<Record<string, number>>
}

export function createContent(agent: string, rules: ContentRules): Content {
  const { onMessage, onEvent } = rules
  const redactor = createRedactor(rules.redact ?? [])

  async function changeRequest(request: SendRequest, { principal }: Call): Promise<SendRequest> {
    const message = (await onMessage?.(request.message, { agent, principal })) ?? request.message
    return { ...request, message: redactor.message(message) }
  }

  async function changeEvent(event: StreamEvent): Promise<StreamEvent> {
    const changed = (await onEvent?.(event, { agent })) ?? event
    switch (changed.type) {
      case 'message':
        return { ...changed, message: redactor.message(changed.message) }
      case 'task':
        return { ...changed, task: redactor.task(changed.task) }
      case 'status':
        return { ...changed, status: redactor.status(changed.status) }
      case 'artifact':
        return { ...changed, artifact: redactor.artifact(changed.artifact) }
    }
  }

  async function changeTask(task: Task): Promise<Task> {
    const event = await changeEvent({ type: 'task', task })
    return event.type === 'task' ? event.task : task
  }

  async function* changeStream(events: AsyncGenerator<StreamEvent>): AsyncGenerator<StreamEvent> {
    const window = redactor.window()
    for await (const event of events) {
      const changed = (await onEvent?.(event, { agent })) ?? event
      yield* window.push(changed)
    }
    yield* window.flush()
  }

  const answers: Interceptor = {
    async unary<O extends UnaryOperation>(_operation: O, request: RequestOf<O>, call: Call, next: UnaryNext<O>) {
      const result: unknown = await next(request, call)
      return (await changeResult(result)) as ResultOf<O>
    },
    async *stream(_operation, request, call, next) {
      yield* changeStream(next(request, call))
    },
  }

  async function changeResult(result: unknown): Promise<unknown> {
    if (!isObject(result)) return result
    const value = result as object
    if ('type' in value && (value.type === 'task' || value.type === 'message')) {
      return await changeEvent(value as StreamEvent)
    }
    if ('status' in value && 'artifacts' in value) return await changeTask(value as unknown as Task)
    if ('tasks' in value && isList(value.tasks)) {
      const tasks = await Promise.all((value.tasks as unknown as readonly Task[]).map(changeTask))
      return { ...value, tasks }
    }
    return result
  }

  return {
    messages: {
      async sendMessage(request, call, next) {
        return await next(await changeRequest(request, call), call)
      },
      async *streamMessage(request, call, next) {
        yield* next(await changeRequest(request, call), call)
      },
    },
    around: (service) => intercept(service, [answers]),
    event: changeEvent,
    async parts(parts) {
      const message: Message = { messageId: crypto.randomUUID(), role: 'agent', parts }
      const changed = await changeEvent({ type: 'message', message })
      return changed.type === 'message' ? changed.message.parts : parts
    },
    counts: redactor.counts,
  }
}

/** Text that may contain the begin of a match, held back until the rest is there. */
interface Held {
  readonly taskId: string
  readonly contextId: string
  readonly text: string
}

interface Span {
  readonly start: number
  readonly end: number
  readonly name: string
}

function createRedactor(patterns: readonly RedactedPattern[]) {
  const compiled = patterns.map(({ name, pattern, maxLength = 256 }) => ({
    name,
    maxLength,
    engine: RE2JS.compile(pattern),
  }))
  const window = Math.max(1, ...compiled.map(({ maxLength }) => maxLength)) - 1
  const counts: Record<string, number> = {}

  /** Matches of all patterns from left to right; of those that overlap, the first one counts. */
  function spansIn(value: string): readonly Span[] {
    const spans: Span[] = []
    for (const { name, engine } of compiled) {
      const matcher = engine.matcher(value)
      while (matcher.find())
        if (matcher.end() > matcher.start()) spans.push({ start: matcher.start(), end: matcher.end(), name })
    }
    let end = 0
    return spans
      .toSorted((one, other) => one.start - other.start || other.end - one.end)
      .filter((span) => {
        if (span.start < end) return false
        end = span.end
        return true
      })
  }

  /** Redacts the text up to a position. A match that begins before it is replaced as a whole. */
  function redactUntil(value: string, limit: number): { readonly safe: string; readonly rest: string } {
    let safe = ''
    let at = 0
    for (const { start, end, name } of spansIn(value)) {
      if (start >= limit) break
      safe += `${value.slice(at, start)}[redacted: ${name}]`
      counts[name] = (counts[name] ?? 0) + 1
      at = end
    }
    const cut = Math.max(at, limit)
    return { safe: safe + value.slice(at, cut), rest: value.slice(cut) }
  }

  const redactText = (value: string) => (compiled.length === 0 ? value : redactUntil(value, value.length).safe)

  function redactJson(value: Json): Json {
    if (typeof value === 'string') return redactText(value)
    if (isList(value)) return value.map(redactJson)
    if (!isObject(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, redactJson(member as Json)]),
    ) as JsonObject
  }

  function redactPart(part: Part): Part {
    const named = part.filename === undefined ? part : { ...part, filename: redactText(part.filename) }
    if ('text' in named) return { ...named, text: redactText(named.text) }
    return 'data' in named ? { ...named, data: redactJson(named.data) } : named
  }

  const message = (value: Message): Message => ({ ...value, parts: value.parts.map(redactPart) })
  const artifact = (value: Artifact): Artifact => ({ ...value, parts: value.parts.map(redactPart) })
  const status = (value: Task['status']): Task['status'] =>
    value.message ? { ...value, message: message(value.message) } : value
  const task = (value: Task): Task => ({
    ...value,
    status: status(value.status),
    artifacts: value.artifacts.map(artifact),
    history: value.history.map(message),
  })

  return {
    message,
    artifact,
    status,
    task,
    counts: () => counts,

    /** Redacts the events of a stream, and holds back the ends of texts that go on in a later chunk. */
    window() {
      const held = new Map<string, Held>()

      /** The parts that can be sent now. */
      function take(
        key: { taskId: string; contextId: string },
        { artifactId, parts }: Artifact,
        isWhole: boolean,
      ): readonly Part[] {
        const before = held.get(artifactId)?.text ?? ''
        held.delete(artifactId)
        const [first, ...others] = parts
        const joined = first && 'text' in first ? [{ ...first, text: before + first.text }, ...others] : parts
        const all: readonly Part[] = joined === parts && before !== '' ? [{ text: before }, ...parts] : joined
        const last = all.at(-1)
        if (isWhole || window === 0 || !last || !('text' in last)) return all.map(redactPart)
        const { safe, rest } = redactUntil(last.text, Math.max(0, last.text.length - window))
        if (rest !== '') held.set(artifactId, { ...key, text: rest })
        return [...all.slice(0, -1).map(redactPart), { ...last, text: safe }]
      }

      function* flush(): Generator<StreamEvent> {
        for (const [artifactId, { taskId, contextId, text: rest }] of held) {
          const parts = [{ text: redactText(rest) }]
          yield { type: 'artifact', taskId, contextId, generation: 0, artifact: { artifactId, parts }, append: true }
        }
        held.clear()
      }

      return {
        flush,
        *push(event: StreamEvent): Generator<StreamEvent> {
          switch (event.type) {
            case 'message':
              return yield { ...event, message: message(event.message) }
            case 'status': {
              const { state } = event.status
              if (isEnded(state) || isInterrupted(state)) yield* flush()
              return yield { ...event, status: status(event.status), generation: 0 }
            }
            case 'artifact': {
              if (!event.append) held.delete(event.artifact.artifactId)
              const parts = take(event, event.artifact, event.lastChunk === true)
              return yield { ...event, artifact: { ...event.artifact, parts }, generation: 0 }
            }
            case 'task': {
              held.clear()
              const whole = task(event.task)
              const isOpen = !isEnded(whole.status.state)
              const key = { taskId: whole.id, contextId: whole.contextId }
              const artifacts = isOpen
                ? event.task.artifacts.map((each) => ({ ...each, parts: take(key, each, false) }))
                : whole.artifacts
              return yield { ...event, task: { ...whole, artifacts, generation: 0 } }
            }
          }
        },
      }
    },
  }
}
