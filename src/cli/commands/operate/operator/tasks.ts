import { defined } from '../../../../core/base/json.ts'
import type { InboxChange, TaskRow, Waiting } from '../../../../entries/operator.ts'
import type { Context, Option } from '../../../command.ts'
import { usageError } from '../../../errors.ts'
import { cut, printTable, relativeTime, stateFormat } from '../../../table.ts'
import { shortIdOf } from '../../../task-ids.ts'
import { timeText } from '../db.ts'
import {
  aboutText,
  agentPositional,
  answer,
  command,
  completeKey,
  cursorOption,
  operation,
  rowText,
  watch,
} from './operation.ts'

const filters = {
  agent: { type: 'text', value: 'id', summary: 'Only tasks of this agent.', onlyFlag: true },
  state: { type: 'text', value: 'state', summary: 'Only these states, separated by commas; stuck is one of them.' },
  principal: { type: 'text', value: 'id', summary: 'Only tasks of this caller.' },
  skill: { type: 'text', value: 'id', summary: 'Only tasks of this skill.' },
  'context-id': { type: 'text', value: 'id', summary: 'Only tasks of this context.', onlyFlag: true },
  search: {
    type: 'text',
    value: 'text',
    summary: 'A part of an id, a caller or a skill, or of the text of the first message.',
  },
  ...cursorOption,
  limit: { type: 'text', value: 'n', summary: 'How many tasks to list, up to 200.', default: '50' },
} as const satisfies Readonly<Record<string, Option>>

export const operatorTasks = command(
  {
    calls: ['tasks', 'taskChanges'],
    description: 'Lists the tasks of all callers on a running server, with the newest change first.',
    options: {
      ...filters,
      follow: { type: 'flag', summary: 'Print tasks as they change, until Ctrl-C.', onlyFlag: true },
    },
    examples: [
      { line: 'parley operator tasks --state failed,stuck', summary: 'What went wrong' },
      { line: 'parley operator tasks --follow -o json', summary: 'Every change, as JSON lines' },
    ],
  },
  async (operator, context) => {
    const { settings, output } = context
    const { limit, 'context-id': _, ...names } = filters
    const query = {
      ...Object.fromEntries(Object.keys(names).map((name) => [name, settings.text(name)])),
      contextId: settings.text('context-id'),
    }
    if (settings.flag('follow')) {
      return await watch(
        (signal) => operator.taskChanges(query, signal),
        (change) => {
          if (change.type === 'task') output.field('Task', rowText(change.task))
          else output.note('Tasks were removed: list them again.')
        },
        context,
      )
    }
    const listing = operator.tasks({ ...query, limit: settings.integer('limit') })
    const show = ({ tasks, next, total }: Awaited<typeof listing>) => {
      if (output.isTerminal && tasks.length > 0) printRows(tasks, output)
      else for (const task of tasks) output.field('Task', rowText(task))
      output.field('Total', `${total}`)
      if (next !== undefined) output.field('Next page', `--cursor ${next}`)
    }
    await answer(listing, show, context)
  },
)

/** The tasks for a person: whose they are, what they are about, and how they stand. */
function printRows(tasks: readonly TaskRow[], output: Context['output']): void {
  const ids = tasks.map(({ taskId }) => taskId)
  // A narrow terminal has no room for both.
  const hasCaller = (process.stdout.columns || 80) >= 80
  const rows = tasks.map((task) => [
    { text: task.agent },
    { text: shortIdOf(task.taskId, ids), format: 'bold' as const },
    defined({ text: task.phase, format: stateFormat(task.phase) }),
    { text: relativeTime(task.changed) },
    ...(hasCaller ? [{ text: cut(task.principal.id, maxCaller) }] : []),
    { text: aboutText(task) },
  ])
  const headings = ['AGENT', 'TASK', 'STATE', 'CHANGED', ...(hasCaller ? ['CALLER'] : []), 'ABOUT']
  printTable(headings, rows, output)
  output.print('')
}

/** Characters of a caller that a table shows. */
const maxCaller = 16

export const operatorCancel = operation(
  {
    calls: ['cancelTasks', 'tasks'],
    description: 'Cancels tasks of any caller.',
    positionals: [agentPositional, { name: 'task', summary: 'The ids of the tasks.', multiple: true }],
    examples: [{ line: 'parley operator cancel echo 0199… 019a…', summary: 'Cancel two tasks' }],
  },
  async (operator, context) => {
    const [agent = '', ...ids] = context.positionals
    if (ids.length === 0) throw usageError('Name the agent and the tasks to cancel.')
    const tasks = await Promise.all(ids.map((taskId) => completeKey({ agent, taskId }, operator)))
    return operator.cancelTasks({ tasks })
  },
  ({ results }, { output }) => {
    for (const { taskId, phase, error } of results) output.field('Task', `${taskId} ${phase ?? error}`)
    if (results.some(({ error }) => error !== undefined)) process.exitCode = 1
  },
)

export const operatorInbox = command(
  {
    calls: ['inbox', 'inboxChanges'],
    description: 'Lists everything that waits for a person, across the agents of a server.',
    options: {
      agent: filters.agent,
      kind: {
        type: 'text',
        value: 'kind',
        summary: 'Only questions of this kind.',
        choices: ['input', 'approval', 'tool', 'credentials'],
      },
      ...cursorOption,
      follow: { type: 'flag', summary: 'Print tasks as they begin to wait, until Ctrl-C.', onlyFlag: true },
    },
    examples: [
      { line: 'parley operator inbox', summary: 'What waits' },
      { line: 'parley operator inbox --follow', summary: 'What begins to wait' },
    ],
  },
  async (operator, context) => {
    const { settings, output } = context
    if (settings.flag('follow')) {
      const show = ({ count, added }: InboxChange) => {
        for (const task of added) output.field('Task', rowText(task))
        output.field('Waiting', `${count}`)
      }
      return await watch((signal) => operator.inboxChanges(signal), show, context)
    }
    const listing = operator.inbox({
      agent: settings.text('agent'),
      kind: settings.text('kind') as Waiting['kind'] | undefined,
      cursor: settings.text('cursor'),
    })
    const show = ({ items, next }: Awaited<typeof listing>) => {
      for (const { agent, taskId, waiting } of items) {
        const deadline = waiting.deadline === undefined ? '' : ` until ${timeText(waiting.deadline)}`
        output.field(waiting.kind, `${agent} ${taskId}${deadline}: ${waiting.text}`)
      }
      output.field('Total', `${items.length}`)
      if (next !== undefined) output.field('Next page', `--cursor ${next}`)
    }
    await answer(listing, show, context)
  },
)

export const operatorOverview = operation(
  {
    calls: ['overview'],
    description: 'Shows how many tasks a server has in each state, and what happened in the last hour or day.',
    options: {
      window: {
        type: 'text',
        value: 'window',
        summary: 'The time to look at.',
        choices: ['hour', 'day'],
        default: 'hour',
      },
    },
    examples: [{ line: 'parley operator overview --window day -o json', summary: 'The last day, for a program' }],
  },
  (operator, { settings }) => operator.overview(settings.text('window') === 'day' ? 'day' : 'hour'),
  ({ total, window }, { output }) => {
    for (const [state, count] of Object.entries(total.tasks)) output.field(state, `${count}`)
    const sum = (name: 'started' | 'completed' | 'failed') => total.points.reduce((all, point) => all + point[name], 0)
    output.field(`Last ${window}`, `${sum('started')} started, ${sum('completed')} completed, ${sum('failed')} failed`)
    output.field('Now', `${total.now.runs} running, ${total.now.queued} queued, ${total.stuck} stuck`)
  },
)

export const operatorUsage = operation(
  {
    calls: ['usage'],
    description: 'Shows the tokens and the cost that turns reported, by day, agent, caller and model.',
    options: {
      days: { type: 'text', value: 'n', summary: 'How many days to look at, up to 90.', default: '30', onlyFlag: true },
    },
    examples: [{ line: 'parley operator usage --days 7 -o json', summary: 'The last week, for a program' }],
  },
  (operator, { settings }) => operator.usage(Number(settings.text('days'))),
  ({ rows }, { output }) => {
    for (const { day, agent, principal, model, inputTokens, outputTokens, cost } of rows) {
      const price = cost === undefined ? '' : `, cost ${cost / 1_000_000}`
      output.field(day, `${agent} ${principal} ${model ?? ''}: ${inputTokens} in, ${outputTokens} out${price}`)
    }
    if (rows.length === 0) output.note('No turn has reported tokens or cost in this time.')
  },
)
