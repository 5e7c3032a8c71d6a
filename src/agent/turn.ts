import type { MessageEvent } from '../protocol/events.ts'
import type { Lineage } from '../protocol/lineage.ts'
import type { Logger } from '../protocol/logger.ts'
import type { Json, JsonObject, Message, Principal, Task } from '../protocol/model.ts'
import type { Activity, Span } from '../protocol/telemetry.ts'
import type { Trace } from '../protocol/trace.ts'
import { type Ask, asAnswer, createAsk, type Inquire } from './ask.ts'
import type { CallAgent, Calls } from './calling.ts'
import type { Content } from './content.ts'
import type { RequireAuth } from './require-auth.ts'
import { createSpeech, type Mouth, type Speech } from './speech.ts'
import { createVoice, type Voice } from './voice.ts'

/**
 * One message being answered: what an author works with. Whatever touches the task (status, artifact, data, file, ask,
 * requireInput, fail, reject) makes it a task. The promises resolve when the event is stored; awaiting them carries
 * the store's back-pressure to the agent.
 */
export interface Turn extends Speech, Calls {
  readonly taskId: string
  readonly contextId: string
  /** The text of the message. */
  readonly text: string
  readonly message: Message
  /** The task as it was when the turn began; undefined if this message is the first of it. */
  readonly task: Task | undefined
  /** What was said in this task before this message, oldest first. */
  readonly history: readonly Message[]
  /** What the caller sent beside the message. */
  readonly metadata: JsonObject
  /** Media types that the caller can use; empty means any. */
  readonly acceptedOutputModes: readonly string[]
  /** Those of the agent's extensions that the caller has asked for, by their URIs. */
  readonly extensions: readonly string[]
  readonly principal: Principal
  /** 1, unless the process that answered this message before is gone and the agent's policy is to try again. */
  readonly attempt: number
  /** Aborts on cancel, deadline, loss of the lease, and shutdown. What is emitted after that may not be stored. */
  readonly signal: AbortSignal
  readonly log: Logger
  /** Which agents stand behind the caller, and what they allow. */
  readonly lineage: Lineage
  /**
   * Where the turn is in the trace of its caller (W3C Trace Context), for what it asks for help by other ways than
   * `turn.call`, which tells it by itself. Undefined if the caller told none, and nobody watches.
   */
  readonly trace: Trace | undefined
  /** Asks a model or runs a tool so that whoever watches the agent sees it. If nobody does, it is just done. */
  observe<T>(activity: Extract<Activity, { type: 'model' | 'tool' }>, work: (span?: Span) => Promise<T>): Promise<T>

  /**
   * Asks another agent and gives its answer. With the policy `resume`, a turn that is resumed goes on with the same task
   * of the other agent. What that one asks for goes to our caller, and the answer to it.
   */
  readonly call: CallAgent
  /** Pauses until there are credentials, and gives them. */
  readonly requireAuth: RequireAuth
  /**
   * A token for another service in the name of the caller, in exchange for the one with which it came (RFC 8693). Never
   * stored: ask again instead of keeping it.
   */
  delegate(audience: string, scopes?: readonly string[]): Promise<string>

  /** Asks the caller and waits for the answer, within this turn. */
  readonly ask: Ask
  /**
   * Does a piece of work and gives what it returns, which must be JSON. With the policy `resume` it is stored, and
   * never done again by a turn that is resumed. What the work has to say meanwhile, it says by what it is given.
   */
  step<T>(name: string, work: (within: Speech) => T | Promise<T>): Promise<T>
  /** Asks the caller and leaves it there: the answer begins a new turn. Return after it. */
  requireInput(question: Content): Promise<void>
  fail(reason: Content): Promise<void>
  reject(reason: Content): Promise<void>
}

/** What the runtime gives to a turn. */
export interface TurnContext extends Mouth {
  readonly taskId: string
  readonly contextId: string
  readonly received: MessageEvent
  readonly attempt: number
  /** Milliseconds since 1970, by the clock of the runtime. */
  readonly now: () => number
  readonly task: Task | undefined
  readonly history: readonly Message[]
  /** Its signal is made when it is asked for. */
  readonly stop: { readonly signal: AbortSignal }
  readonly log: Logger
  readonly step: (name: string, work: (within: Mouth) => unknown) => Promise<Json | undefined>
  readonly ask: Inquire
  readonly newRequestId: () => string
  readonly lineage: Lineage
  readonly trace: Trace | undefined
  readonly observe: Turn['observe']
  /** Made when they are needed: most turns ask nobody. */
  readonly calls: () => Calls
  readonly requireAuth: RequireAuth
  readonly delegate: Turn['delegate']
}

export function createTurn(context: TurnContext): Turn {
  return new AgentTurn(context)
}

/**
 * Every turn is one, and uses little of what it offers: so whatever is a function is made when it is asked for. It needs
 * no `this`, because authors take turns apart.
 */
class AgentTurn implements Turn {
  readonly taskId: string
  readonly contextId: string
  readonly text: string
  readonly message: Message
  readonly metadata: JsonObject
  readonly principal: Principal
  readonly #context: TurnContext
  #voice: Voice | undefined
  #speech: Speech | undefined

  constructor(context: TurnContext) {
    const { text, message, metadata, principal } = asAnswer(context.received)
    this.taskId = context.taskId
    this.contextId = context.contextId
    this.text = text
    this.message = message
    this.metadata = metadata
    this.principal = principal
    this.#context = context
  }

  get task() {
    return this.#context.task
  }

  get history() {
    return this.#context.history
  }

  get acceptedOutputModes() {
    return this.#context.received.acceptedOutputModes ?? []
  }

  get extensions() {
    return this.#context.received.extensions ?? []
  }

  get attempt() {
    return this.#context.attempt
  }

  get signal() {
    return this.#context.stop.signal
  }

  get log() {
    return this.#context.log
  }

  get lineage() {
    return this.#context.lineage
  }

  get trace() {
    return this.#context.trace
  }

  get observe() {
    return this.#context.observe
  }

  get call() {
    return this.#context.calls().call
  }

  get callAll() {
    return this.#context.calls().callAll
  }

  get callFirst() {
    return this.#context.calls().callFirst
  }

  get requireAuth() {
    return this.#context.requireAuth
  }

  get delegate() {
    return this.#context.delegate
  }

  get status() {
    return this.#says().status
  }

  get artifact() {
    return this.#says().artifact
  }

  get data() {
    return this.#says().data
  }

  get file() {
    return this.#says().file
  }

  get ask() {
    return createAsk(this.#context, this.#speaks())
  }

  get step() {
    const context = this.#context
    const voice = this.#speaks()
    return async <T>(name: string, work: (within: Speech) => T | Promise<T>) => {
      requireStep(name, work)
      // What the work returned, as JSON brings it back.
      return (await context.step(name, (within) => work(createSpeech(voice, within)))) as T
    }
  }

  get requireInput() {
    const { status } = this.#says()
    return (question: Content) => status('input-required', question)
  }

  get fail() {
    const { status } = this.#says()
    return (reason: Content) => status('failed', reason)
  }

  get reject() {
    const { status } = this.#says()
    return (reason: Content) => status('rejected', reason)
  }

  #speaks(): Voice {
    this.#voice ??= createVoice(this.#context, this.#context.now)
    return this.#voice
  }

  #says(): Speech {
    this.#speech ??= createSpeech(this.#speaks(), this.#context)
    return this.#speech
  }
}

function requireStep(name: unknown, work: unknown): void {
  if (typeof name !== 'string' || name === '') {
    throw new TypeError(`turn.step(): expected a name that is not empty, got ${JSON.stringify(name)}`)
  }
  if (typeof work !== 'function') throw new TypeError(`turn.step(${name}): expected a function, got ${typeof work}`)
}
