import { defined } from '../../core/base/json.ts'
import { A2AError } from '../../core/protocol/errors.ts'
import { anonymous } from '../../core/protocol/model.ts'
import type { Task } from '../../entries/client.ts'
import { type AgentConnection, openAgent } from '../agent.ts'
import { agentOptions, type Command, type Context, type Option, type Positional, waitOptions } from '../command.ts'
import { usageError } from '../errors.ts'
import {
  isSettled,
  nextSteps,
  pageJson,
  printHistory,
  printTask,
  printTaskHead,
  readState,
  taskJson,
  untilInterrupted,
} from '../render.ts'
import { printTable, relativeTime, stateFormat } from '../table.ts'
import { resolveTaskId, shortIdOf } from '../task-ids.ts'
import { pollInterval, pollTask } from '../wait.ts'
import { streamReply } from './send.ts'

export const taskPositional: Positional = {
  name: 'task-id',
  summary: 'The id of the task, or its end.',
  optional: true,
  complete: 'task',
}

export const taskIdOption: Readonly<Record<string, Option>> = {
  'task-id': {
    type: 'text',
    value: 'id',
    summary: 'The id of the task, as the argument.',
    complete: 'task',
  },
}

export function requireTaskId({ positionals: [id], settings }: Context): string {
  const taskId = id ?? settings.text('task-id')
  if (!taskId) throw usageError('Which task? Pass its id.', 'parley task list shows your tasks.')
  return taskId
}

const historyOption: Readonly<Record<string, Option>> = {
  history: { type: 'text', value: 'n', summary: 'Messages of the history to show.', default: '0' },
}

export const taskGet: Command = {
  description: 'Shows the state and all artifacts of a task. With --wait, polls until it has ended or needs you.',
  positionals: [taskPositional],
  options: {
    ...agentOptions,
    ...taskIdOption,
    ...historyOption,
    wait: { type: 'flag', aliases: ['watch'], summary: 'Wait until the task has ended or needs you.', default: 'no' },
    ...waitOptions,
  },
  examples: [
    { line: 'parley task get 7f1c -a localhost:4000', summary: 'Show a task' },
    { line: 'parley task get 7f1c -a localhost:4000 --wait --timeout 5m', summary: 'Wait for it' },
  ],
  async run(context) {
    const taskId = requireTaskId(context)
    const historyLength = context.settings.integer('history') ?? 0
    const agent = await openAgent(context)
    const done = context.output.progress('Fetching the task…')
    const first = await agent.client
      .task(await resolveTaskId(taskId, agent))
      .get({ ...agent.call, historyLength })
      .finally(done)
    const mustWait = context.settings.flag('wait') && !isSettled(first)
    const task = mustWait ? await pollTask(context, agent, first, historyLength) : first
    report(task, agent, context)
  },
}

export const taskCancel: Command = {
  description: 'Cancels a task and shows its state. A task that is already canceled is not an error.',
  positionals: [taskPositional],
  options: { ...agentOptions, ...taskIdOption },
  examples: [{ line: 'parley task cancel 7f1c -a localhost:4000', summary: 'Cancel a task' }],
  async run(context) {
    const text = requireTaskId(context)
    const agent = await openAgent(context)
    const taskId = await resolveTaskId(text, agent)
    const { client, call } = agent
    try {
      report(await client.task(taskId).cancel(call), agent, context, false)
    } catch (error) {
      if (!(error instanceof A2AError) || error.code !== 'task-not-cancelable') throw error
      const task = await client.task(taskId).get(call)
      if (task.status.state !== 'canceled') throw error
      report(task, agent, context, false)
    }
  },
}

export const taskList: Command = {
  description: 'Lists your tasks, the newest first, page by page. With --stream, all pages, one task per line.',
  options: {
    ...agentOptions,
    status: { type: 'text', value: 'state', summary: 'Only tasks in this state, such as working.', onlyFlag: true },
    'context-id': {
      type: 'text',
      value: 'id',
      summary: 'Only tasks of this context.',
      complete: 'context',
    },
    since: {
      type: 'text',
      value: 'time',
      summary: 'Only tasks that changed since this time (ISO 8601).',
      onlyFlag: true,
    },
    'page-size': { type: 'text', value: 'n', summary: 'Tasks per page, from 1 to 100.', default: '50', onlyFlag: true },
    'page-token': {
      type: 'text',
      value: 'token',
      summary: 'The page to show, by the token of the page before.',
      onlyFlag: true,
    },
    artifacts: { type: 'flag', summary: 'Include the artifacts.', onlyFlag: true },
    ...historyOption,
    stream: { type: 'flag', summary: 'Print all pages, one task per line.', onlyFlag: true },
  },
  examples: [
    { line: 'parley task list -a localhost:4000 --status input-required', summary: 'The tasks that wait for you' },
    { line: 'parley task list -a localhost:4000 -o json --stream | jq -r .id', summary: 'The ids of all tasks' },
  ],
  async run(context) {
    const { settings, output } = context
    const { client, call } = await openAgent(context)
    const request = listRequest(context)
    const isTable =
      output.isTerminal && output.mode === 'text' && !settings.flag('stream') && !settings.flag('artifacts')
    for (let pageToken = settings.text('page-token'); ; ) {
      const done = output.progress('Fetching the tasks…')
      const page = await client.service
        .listTasks({ ...request, ...defined({ pageToken: pageToken || undefined }) }, { principal: anonymous, ...call })
        .finally(done)
      if (output.mode === 'json' && !settings.flag('stream')) return output.document(pageJson(page))
      if (isTable) printTasks(page.tasks, output)
      else for (const task of page.tasks) printListed(task, context)
      pageToken = page.nextPageToken
      if (!settings.flag('stream')) {
        output.field('Tasks', `${page.tasks.length} of ${page.totalSize}`)
        if (pageToken) output.field('Next page token', pageToken)
        return
      }
      if (!pageToken) return
    }
  },
}

/** The tasks for a person: the newest first, each with what was said last. */
function printTasks(tasks: readonly Task[], output: Context['output']): void {
  if (tasks.length === 0) return
  const ids = tasks.map(({ id }) => id)
  const rows = tasks.map((task) => {
    const state = task.status.state
    return [
      { text: shortIdOf(task.id, ids), format: 'bold' as const },
      defined({ text: state, format: stateFormat(state) }),
      { text: relativeTime(task.status.timestamp) },
      { text: textOf(task) },
    ]
  })
  printTable(['ID', 'STATE', 'CHANGED', 'LAST MESSAGE'], rows, output)
  output.print('')
}

function textOf({ status }: Task): string {
  return (status.message?.parts ?? []).map((part) => ('text' in part ? part.text : '')).join(' ')
}

function listRequest({ settings }: Context) {
  const status = settings.text('status')
  const state = status === undefined ? undefined : readState(status)
  if (status !== undefined && !state) throw usageError(`--status: "${status}" is no state of a task.`)
  const contextId = settings.text('context-id')
  const since = settings.text('since')
  if (since !== undefined && Number.isNaN(Date.parse(since))) {
    throw usageError(`--since: expected a time such as 2026-01-31T12:00:00Z, got "${since}".`)
  }
  return defined({
    state,
    contextId,
    statusSince: since === undefined ? undefined : new Date(since).toISOString(),
    pageSize: settings.integer('page-size') ?? 50,
    historyLength: settings.integer('history') ?? 0,
    includeArtifacts: settings.flag('artifacts'),
  })
}

function printListed(task: Task, { settings, output }: Context): void {
  if (output.mode === 'json') {
    output.line(taskJson(task))
    return
  }
  if (settings.flag('artifacts')) printTask(task, output)
  else printTaskHead(task, output)
  if (task.status.timestamp) output.field('Updated', task.status.timestamp)
  output.print('')
}

export const taskSubscribe: Command = {
  description:
    'Shows the task as it is and then every change, until it has ended or needs you. A broken connection is resumed; an agent that does not stream is polled.',
  positionals: [taskPositional],
  options: {
    ...agentOptions,
    ...taskIdOption,
    stream: { type: 'flag', summary: 'With -o json: one event per line, instead of the final task.', onlyFlag: true },
    ...waitOptions,
  },
  examples: [{ line: 'parley task subscribe 7f1c -a localhost:4000', summary: 'Follow a task' }],
  async run(context) {
    const { settings, output } = context
    const text = requireTaskId(context)
    const interval = pollInterval(context)
    const agent = await openAgent(context, { polling: { minDelay: interval, maxDelay: interval * 8 } })
    const taskId = await resolveTaskId(text, agent)
    const events = untilInterrupted(
      agent.client.service.subscribeToTask({ taskId, includeEnded: true }, { principal: anonymous, ...agent.call }),
    )
    if (output.mode === 'text' || settings.flag('stream')) return await streamReply(events, agent, context)
    const done = output.progress(`Following the task ${taskId}…`)
    for await (const event of events) output.detail(event.type)
    done()
    context.signal.throwIfAborted()
    report(await agent.client.task(taskId).get(agent.call), agent, context)
  },
}

function report(task: Task, { reference }: AgentConnection, { output }: Context, hasNext = true): void {
  if (output.mode === 'json') output.document(taskJson(task))
  else {
    printTask(task, output)
    if (task.history.length > 0) printHistory(task.history, output)
  }
  if (!hasNext) return
  const { state } = task.status
  const lines = nextSteps(task, reference)
  if (state === 'failed' || state === 'rejected') output.warn(lines.join('\n'))
  else for (const line of lines) output.note(line)
}
