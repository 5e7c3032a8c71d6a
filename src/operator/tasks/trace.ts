import { redactSecrets } from '../../core/base/error-summary.ts'
import { defined } from '../../core/base/json.ts'
import { traceIdOf } from '../../core/base/trace-context.ts'
import type { JournalEntry, StatusEvent, TraceEntry } from '../../core/protocol/events.ts'
import { type UsageSum, usageIn } from '../../core/protocol/extensions/usage.ts'
import { type Message, textOf } from '../../core/protocol/model.ts'
import { isEnded, isInterrupted, type Phase } from '../../core/protocol/states.ts'
import type { TimedEvent } from '../../core/tasks/operator-log.ts'
import { type ConsoleAgent, type ConsoleAgents, operatorLogOf } from '../agents.ts'
import type { CallNode, TaskTrace, TraceRow } from '../contract.ts'
import { readCallTree } from './call-tree.ts'
import { requireTask, scanEvents } from './detail.ts'

/** Characters of a message that a row shows. */
const maxText = 2_000

/** Deliveries to webhooks that a trace has at most. */
const maxDeliveries = 200

/** What a task did, as rows of a waterfall: its turns with the work in them, its questions, and deliveries to webhooks. */
export async function readTrace(agents: ConsoleAgents, agent: ConsoleAgent, taskId: string): Promise<TaskTrace> {
  const task = await requireTask(agent, taskId)
  const events = task.phase === 'expired' ? [] : await scanEvents(operatorLogOf(agent), task)
  const turns = turnsIn(events, task.created)
  const { calls } = await readCallTree(agents, agent, taskId)
  const matched = new Set<CallNode>()
  const urlOf = createLinks(agent)

  const rowsOf = (turn: Turn): readonly TraceRow[] => {
    const work = turn.entries.map((entry): readonly TraceRow[] => {
      const node = calls.find((call) => call.remoteTaskId !== undefined && call.remoteTaskId === entry.taskId)
      if (node) matched.add(node)
      return [
        { ...rowOfEntry(entry, urlOf(turn.traceId, entry.spanId)), ...defined({ task: node?.task }) },
        ...callRows(node?.calls ?? [], 2),
      ]
    })
    return [
      rowOfTurn(turn, urlOf(turn.traceId)),
      ...[...turn.questions.map((row) => [row]), ...work].toSorted(byStart).flat(),
    ]
  }
  const byTurn = turns.map((turn) => ({ turn, rows: rowsOf(turn) }))
  // Calls that run still have no entry, and neither have those from before there were traces.
  for (const node of calls) {
    if (matched.has(node)) continue
    const last = byTurn.findLast(({ turn }) => turn.started <= node.started) ?? byTurn[0]
    if (last) last.rows = [...last.rows, ...callRows([node], 1)]
  }
  const usage = usageIn(task.status?.taskMetadata)
  return defined({
    rows: [...byTurn.flatMap(({ rows }) => rows), ...(await deliveryRows(agent, taskId))],
    isPartial: events.length < task.generation ? true : undefined,
    isLimited: turns.some(({ entries }) => entries.some(({ type }) => type === 'limit')) ? true : undefined,
    usage: usage as UsageSum | undefined,
  })
}

interface Turn {
  readonly number: number
  readonly attempt: number
  readonly started: number
  readonly message: Message | undefined
  readonly traceId: string | undefined
  readonly entries: TraceEntry[]
  readonly questions: TraceRow[]
  ended?: number
  state?: TraceRow['state']
  result?: string | undefined
  note?: string
}

/** Reads turns from the events of a task: a message begins one, and a status or the journal ends it. */
function turnsIn(events: readonly TimedEvent[], created: number): readonly Turn[] {
  const turns: Turn[] = []
  let turn: Turn | undefined
  let question: { readonly text: string; readonly started: number } | undefined
  const queued: Message[] = []
  let number = 0
  let time = created

  const begin = (message: Message | undefined, attempt: number, traceId?: string) => {
    if (attempt === 1) number++
    turn = { number, attempt, started: time, message, traceId, entries: [], questions: [] }
    turns.push(turn)
  }
  const end = (state: TraceRow['state'], more: Pick<Turn, 'result' | 'note' | 'ended'> = {}) => {
    if (turn) Object.assign(turn, { state, ended: time, ...more })
    turn = undefined
  }
  const closeQuestion = (state: TraceRow['state'], output?: string) => {
    const { text, started } = question ?? {}
    question = undefined
    if (text === undefined || started === undefined) return
    const row: TraceRow = defined({
      type: 'question',
      name: 'Question',
      depth: 1,
      state,
      started,
      ended: time,
      input: text,
      output,
    })
    turns.at(-1)?.questions.push(row)
  }

  const readStatus = (event: StatusEvent) => {
    const { state, message } = event.status
    const text = message && shorten(textOf(message))
    if (isInterrupted(state)) {
      question ??= { text: text ?? '', started: time }
      if (event.pausedUnder !== undefined) end('completed', { result: text })
      return
    }
    closeQuestion(isEnded(state) ? 'canceled' : event.implied ? 'completed' : 'failed')
    if (isEnded(state)) end(stateOf(state), { result: text })
    if (event.answered === undefined) return
    end('completed', { result: text })
    begin(queued.shift(), 1)
  }

  const readEntry = (entry: JournalEntry, last: number) => {
    switch (entry.type) {
      case 'attempt': {
        if (turn && entry.attempt === 1) return
        const { message, traceId } = turns.at(-1) ?? {}
        if (entry.attempt === 1) return begin(queued.shift() ?? message, 1)
        end('interrupted', { note: 'The process ended. Another one continued the turn.', ended: last })
        return begin(message, entry.attempt, traceId)
      }
      case 'handed-over':
        return end('interrupted', { note: 'The process shut down, and handed the turn over.' })
      case 'rested':
        return end('completed')
      case 'unanswered':
        return closeQuestion('failed', 'Not answered in time.')
      case 'paused':
      case 'step':
    }
  }

  for (const { event, at } of events) {
    const last = time
    time = at ?? time
    if (event.traceChunk) (turn ?? turns.at(-1))?.entries.push(...event.traceChunk.entries)
    switch (event.type) {
      case 'message': {
        const isAnswer = question !== undefined
        closeQuestion('completed', shorten(textOf(event.message)))
        if (!turn) begin(event.message, 1, event.trace && traceIdOf(event.trace))
        else if (!isAnswer) queued.push(event.message)
        break
      }
      case 'reply':
        end(event.error ? 'failed' : 'completed', {
          result: event.message ? shorten(textOf(event.message)) : event.error.message,
        })
        break
      case 'status':
        readStatus(event)
        break
      case 'journal':
        readEntry(event.entry, last)
        break
      case 'artifact':
      case 'cancel':
    }
  }
  if (question) {
    const { text: input, started } = question
    turns.at(-1)?.questions.push({ type: 'question', name: 'Question', depth: 1, state: 'waiting', started, input })
  }
  return turns
}

function rowOfTurn(turn: Turn, url: string | undefined): TraceRow {
  const { number, attempt, started, ended, state = 'running', message, result, note } = turn
  return defined({
    type: 'turn',
    name: attempt === 1 ? `Turn ${number}` : `Turn ${number}, attempt ${attempt}`,
    depth: 0,
    state,
    started,
    ended,
    attempt,
    input: message && shorten(textOf(message)),
    output: result,
    failure: note,
    url,
  })
}

function rowOfEntry(entry: TraceEntry, url: string | undefined): TraceRow {
  const { type, name, at, duration, failure, spanId: _, taskId, retries, ...others } = entry
  if (type === 'limit') {
    return {
      type: 'limit',
      name: 'The trace is full: what came after is not recorded.',
      depth: 1,
      state: 'completed',
      started: at,
      ended: at,
    }
  }
  return defined({
    type,
    name,
    depth: 1,
    state: failure ? 'failed' : 'completed',
    started: at,
    ended: at + duration,
    attempt: retries === undefined ? undefined : retries + 1,
    remoteTaskId: taskId,
    failure: failure && [failure.type, failure.message].filter((text) => text !== undefined).join(': '),
    url,
    ...others,
  })
}

function callRows(calls: readonly CallNode[], depth: number): readonly TraceRow[] {
  return calls.flatMap(({ agent: name, calls: inner, ...call }): readonly TraceRow[] => [
    { type: 'call', name, depth, ...call },
    ...callRows(inner, depth + 1),
  ])
}

async function deliveryRows({ agent }: ConsoleAgent, taskId: string): Promise<readonly TraceRow[]> {
  const rows: TraceRow[] = []
  if (!agent.push) return rows
  const urls = new Map<string, string>()
  for await (const { id, url } of agent.push.webhooks({ taskId })) urls.set(id, redactSecrets(url))
  for await (const { id, at, latency, attempts, outcome, status, problem, generation } of agent.push.deliveries({
    taskId,
  })) {
    if (rows.length === maxDeliveries) break
    const row = {
      type: 'webhook' as const,
      name: urls.get(id) ?? id,
      depth: 0,
      state: deliveryStates[outcome],
      started: at,
      ended: at + latency,
      attempt: attempts,
      input: `Event ${generation}`,
      output: status === undefined ? undefined : `HTTP ${status}`,
      failure: problem,
    }
    rows.push(defined(row))
  }
  return rows.sort((one, other) => one.started - other.started)
}

const deliveryStates = { delivered: 'completed', retrying: 'waiting', redriven: 'waiting', dead: 'failed' } as const

/** Links to the tracing system, if the server says where it is. */
function createLinks({ agent }: ConsoleAgent): (traceId?: string, spanId?: string) => string | undefined {
  const { trace } = agent.options
  const template = trace === false ? undefined : trace?.url
  return (traceId, spanId = '') =>
    traceId === undefined ? undefined : template?.replaceAll('{traceId}', traceId).replaceAll('{spanId}', spanId)
}

function byStart([one]: readonly TraceRow[], [other]: readonly TraceRow[]): number {
  return (one?.started ?? 0) - (other?.started ?? 0)
}

function stateOf(phase: Phase): TraceRow['state'] {
  if (phase === 'completed' || phase === 'answered') return 'completed'
  return phase === 'canceled' ? 'canceled' : 'failed'
}

function shorten(text: string): string {
  return text.length > maxText ? `${text.slice(0, maxText)}…` : text
}
