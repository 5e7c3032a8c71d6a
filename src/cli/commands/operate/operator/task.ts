import { defined, isObject, type Json, type JsonObject } from '../../../../core/base/json.ts'
import { taskForms } from '../../../../core/dialects/versions.ts'
import type { CallNode, EventRow, SeenAsDialect, TraceRow } from '../../../../entries/operator.ts'
import { createPrompts, isInteractive } from '../../../chat/prompts.ts'
import type { Context } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { printTable, relativeTime } from '../../../table.ts'
import { timeText } from '../db.ts'
import { agentPositional, answer, command, operation, rowText, taskKey, taskPositional, watch } from './operation.ts'

const dialects: readonly SeenAsDialect[] = taskForms.map(({ id }) => id)

export const operatorTask = operation(
  {
    calls: ['task', 'tasks'],
    description: 'Shows one task of a running server: its state over time, its steps and what it waits for.',
    positionals: [agentPositional, taskPositional],
    examples: [{ line: 'parley operator task echo 0199… -o json', summary: 'Everything about a task' }],
  },
  async (operator, context) => operator.task(await taskKey(context, operator)),
  ({ phases, steps, waiting, ...task }, { output }) => {
    output.field('Task', rowText(task))
    for (const { phase, at } of phases) output.field('State', `${phase} ${timeText(at)}`)
    for (const { step, attempt, failure } of steps) {
      output.field('Step', `${step}, attempt ${attempt}${failure ? `, failed: ${failure.message}` : ''}`)
    }
    if (waiting) output.field('Waits for', `${waiting.kind}: ${waiting.text}`)
    for (const url of waiting?.credentials?.urls ?? []) output.field('Credentials from', url)
  },
)

export const operatorEvents = command(
  {
    calls: ['events', 'eventChanges', 'tasks'],
    description: 'Shows the events of a task with their times and sizes, oldest first.',
    positionals: [agentPositional, taskPositional],
    options: {
      after: { type: 'text', value: 'n', summary: 'Only events after this number.', onlyFlag: true },
      before: { type: 'text', value: 'n', summary: 'Only events before this number.', onlyFlag: true },
      limit: { type: 'text', value: 'n', summary: 'How many events to show, up to 1,000.', default: '200' },
      follow: { type: 'flag', summary: 'Print new events as they are stored, until Ctrl-C.', onlyFlag: true },
    },
    examples: [
      { line: 'parley operator events echo 0199… --after 200', summary: 'The next events' },
      { line: 'parley operator events echo 0199… --follow', summary: 'Watch a task' },
    ],
  },
  async (operator, context) => {
    const { settings, output } = context
    const [after, before, limit] = [settings.integer('after'), settings.integer('before'), settings.integer('limit')]
    const task = await taskKey(context, operator)
    if (settings.flag('follow')) {
      const show = (event: EventRow) => output.field('Event', eventText(event))
      return await watch((signal) => operator.eventChanges(task, after ?? 0, signal), show, context)
    }
    const reading = operator.events(task, { after, before, limit })
    const show = ({ events, generation }: Awaited<typeof reading>) => {
      if (output.isTerminal && events.length > 0) printEvents(events, output)
      else for (const event of events) output.field('Event', eventText(event))
      output.field('Last', `${generation}`)
    }
    await answer(reading, show, context)
  },
)

export const operatorEvent = operation(
  {
    calls: ['event', 'tasks'],
    description: 'Shows one event of a task in full.',
    positionals: [agentPositional, taskPositional, { name: 'number', summary: 'The number of the event, from 1 on.' }],
    examples: [{ line: 'parley operator event echo 0199… 1', summary: 'The first message' }],
  },
  async (operator, context) => {
    const [, , number = ''] = context.positionals
    if (!/^[1-9]\d{0,14}$/.test(number)) throw usageError(`Expected the number of an event, got "${number}".`)
    return operator.event(await taskKey(context, operator), Number(number))
  },
  (event, { output }) => {
    output.field('Event', eventText(event))
    output.write(`${JSON.stringify(event.event, undefined, 2)}\n`)
  },
)

export const operatorSeenAs = operation(
  {
    calls: ['seenAs', 'tasks'],
    description: 'Shows a task in the JSON of a protocol version, and what that version cannot express.',
    positionals: [agentPositional, taskPositional, { name: 'dialect', summary: `One of ${dialects.join(', ')}.` }],
    examples: [{ line: 'parley operator seen-as echo 0199… 0.3', summary: 'What a 0.3 client sees' }],
  },
  async (operator, context) => {
    const [, , name] = context.positionals
    const dialect = dialects.find((each) => each === name)
    if (dialect === undefined) throw usageError(`Expected one of ${dialects.join(', ')}, got "${name ?? ''}".`)
    return operator.seenAs(await taskKey(context, operator), dialect)
  },
  ({ json, lost }, { output }) => {
    output.write(`${JSON.stringify(json, undefined, 2)}\n`)
    for (const { path, reason } of lost) output.field('Lost', `${path}: ${reason}`)
  },
)

export const operatorCalls = operation(
  {
    calls: ['calls', 'tasks'],
    description: 'Shows the calls of a task to other agents, as a tree with durations.',
    positionals: [agentPositional, taskPositional],
    examples: [{ line: 'parley operator calls travel 0199…', summary: 'Which agents a task called' }],
  },
  async (operator, context) => operator.calls(await taskKey(context, operator)),
  ({ calls }, context) => {
    if (calls.length === 0) context.output.note('The task called no other agent.')
    printCalls(calls, context, '')
  },
)

export const operatorTrace = operation(
  {
    calls: ['trace', 'tasks'],
    description:
      'Shows what a task did: its turns with their steps, model requests, tool calls and calls of other agents, its questions, and deliveries to webhooks.',
    positionals: [agentPositional, taskPositional],
    examples: [{ line: 'parley operator trace travel 0199…', summary: 'Where a task spent its time' }],
  },
  async (operator, context) => operator.trace(await taskKey(context, operator)),
  ({ rows, usage, isPartial }, { output }) => {
    for (const row of rows) output.field(`${'  '.repeat(row.depth)}${row.type}`, traceText(row))
    if (usage) output.field('Tokens', `${usage.inputTokens} in, ${usage.outputTokens} out`)
    if (isPartial) output.note('The task has too many events to read them all: its middle is missing.')
  },
)

export const operatorLog = operation(
  {
    calls: ['log', 'tasks'],
    description: 'Shows the recent log lines of a task.',
    positionals: [agentPositional, taskPositional],
    examples: [{ line: 'parley operator log echo 0199…', summary: 'What the agent logged' }],
  },
  async (operator, context) => operator.log(await taskKey(context, operator)),
  ({ lines }, { output }) => {
    for (const { at, level, message, fields } of lines) {
      const { taskId: _, contextId: __, ...rest } = fields
      const details = Object.keys(rest).length === 0 ? '' : ` ${JSON.stringify(rest)}`
      output.field(level, `${timeText(at)} ${message}${details}`)
    }
    if (lines.length === 0) output.note('There are no log lines of this task.')
  },
)

export const operatorRerun = operation(
  {
    calls: ['rerun', 'tasks'],
    description: 'Sends the first message of a task again, or another text, as a new task of the operator.',
    positionals: [agentPositional, taskPositional],
    options: { text: { type: 'text', value: 'text', summary: 'What to send in its place.', onlyFlag: true } },
    examples: [{ line: 'parley operator rerun echo 0199…', summary: 'Try it again' }],
  },
  async (operator, context) => {
    const text = context.settings.text('text')
    return operator.rerun(await taskKey(context, operator), text === undefined ? {} : { parts: [{ text }] })
  },
  ({ agent, taskId }, { output }) => output.field('Task', `${agent} ${taskId}`),
)

export const operatorAnswer = operation(
  {
    calls: ['task', 'answer', 'tasks'],
    description:
      'Answers a question of a task in the place of its caller, decides about an approval, or sends the credentials that a task waits for. On a terminal, it prompts for them.',
    positionals: [agentPositional, taskPositional],
    options: {
      text: { type: 'text', value: 'text', summary: 'The answer in words.', onlyFlag: true },
      value: {
        type: 'text',
        value: 'json',
        summary: 'The answer as JSON, for a question with a schema.',
        onlyFlag: true,
      },
      approve: { type: 'flag', summary: 'Approve what the task asks for.', onlyFlag: true },
      decline: { type: 'flag', summary: 'Decline it.', onlyFlag: true },
      credentials: {
        type: 'text',
        value: 'secret',
        secret: true,
        summary: 'The credentials that the task waits for. Prefer A2ACLI_CREDENTIALS.',
      },
      scheme: {
        type: 'text',
        value: 'name',
        onlyFlag: true,
        default: 'the first that the task names',
        summary: 'The scheme of the credentials.',
      },
      comment: { type: 'text', value: 'text', summary: 'A comment beside the answer.', onlyFlag: true },
    },
    examples: [
      { line: 'parley operator answer shop 0199… --approve --comment "Within budget"', summary: 'Approve' },
      { line: 'parley operator answer shop 0199…', summary: 'Enter credentials' },
    ],
  },
  async (operator, context) => {
    const { settings } = context
    const task = await taskKey(context, operator)
    const { waiting } = await operator.task(task)
    const [text, value, comment] = [settings.text('text'), settings.text('value'), settings.text('comment')]
    const decision = settings.flag('approve') ? 'approve' : settings.flag('decline') ? 'decline' : undefined
    const hasAnswer = text !== undefined || value !== undefined || decision !== undefined
    const secret = hasAnswer || waiting?.kind !== 'credentials' ? undefined : await readSecret(context)
    if (!hasAnswer && secret === undefined) {
      throw usageError('Give an answer: --text, --value, --approve, --decline or --credentials.')
    }
    const scheme = settings.text('scheme') ?? waiting?.credentials?.schemes[0]
    return await operator.answer(
      task,
      defined({
        requestId: waiting?.requestId,
        parts: text === undefined ? undefined : [{ text }],
        value: value === undefined ? undefined : parseValue(value),
        decision,
        credentials: secret === undefined ? undefined : defined({ secret, scheme }),
        comment,
      }),
    )
  },
  (task, { output }) => output.field('Task', rowText(task)),
)

/** From the option or the environment, or from a prompt that does not show it. */
async function readSecret({ settings, output }: Context): Promise<string | undefined> {
  const secret = settings.text('credentials')
  if (secret !== undefined || !isInteractive()) return secret
  const entered = await createPrompts(output).secret('Credentials for the agent (empty: none)')
  output.hide(entered)
  return entered || undefined
}

function eventText({ generation, at, type, by, bytes, event }: EventRow): string {
  const time = at === undefined ? 'time unknown' : timeText(at)
  const content = contentOf(event)
  return `${generation} ${type} by ${by}, ${bytes} bytes, ${time}${content === '' ? '' : `: ${content}`}`
}

function printEvents(events: readonly EventRow[], output: Context['output']): void {
  const rows = events.map(({ generation, at, type, by, event }) => [
    { text: `${generation}` },
    { text: relativeTime(at), format: 'dim' as const },
    { text: by },
    { text: type, format: 'bold' as const },
    { text: contentOf(event) },
  ])
  printTable(['NO', 'STORED', 'BY', 'TYPE', 'CONTENT'], rows, output)
  output.print('')
}

/** What an event says, in one line: the texts in it, or its other members. */
function contentOf(event: EventRow['event']): string {
  if (event === undefined) return ''
  const { type: _, ...members } = event as unknown as JsonObject
  const text = textsIn(members).join(' ').replace(/\s+/g, ' ').trim()
  return text.length > maxContent ? `${text.slice(0, maxContent)}…` : text
}

/** Characters of an event that are shown; parley operator event shows all of it. */
const maxContent = 200

/** The values that a reader looks for: states, names and texts, in their order. */
function textsIn(value: unknown, name = ''): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => textsIn(item, name))
  if (isObject(value)) return Object.entries(value).flatMap(([key, member]) => textsIn(member, key))
  return typeof value === 'string' && readable.has(name) ? [value] : []
}

const readable = new Set(['state', 'text', 'name', 'filename', 'url', 'reason', 'message', 'step', 'error'])

function printCalls(calls: readonly CallNode[], context: Context, indent: string): void {
  for (const { agent, state, started, ended, failure, remoteTaskId, calls: own } of calls) {
    const duration = ended === undefined ? '' : `, ${ended - started} ms`
    const task = remoteTaskId === undefined ? '' : ` ${remoteTaskId}`
    context.output.field(
      `${indent}Call`,
      `${agent}${task} ${state}${duration}${failure === undefined ? '' : `: ${failure}`}`,
    )
    printCalls(own, context, `${indent}  `)
  }
}

function traceText({ name, state, started, ended, inputTokens, outputTokens, failure }: TraceRow): string {
  const duration = ended === undefined ? '' : `, ${Math.round(ended - started)} ms`
  const tokens = inputTokens === undefined ? '' : `, ${inputTokens} tokens in, ${outputTokens} out`
  return `${name} ${state}${duration}${tokens}${failure === undefined ? '' : `: ${failure}`}`
}

function parseValue(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    throw usageError('--value: expected JSON, such as "blue" in quotes, 3 or {"a":1}.')
  }
}
