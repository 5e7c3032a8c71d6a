import { defined, type Json } from '../../../core/base/json.ts'
import type { Command, Context } from '../../command.ts'
import { CliError, usageError } from '../../errors.ts'
import { openAdmin, openLog, type Store, storeOptions, storePositional, withStore } from '../../store/open-store.ts'
import { printTable, relativeTime, stateFormat } from '../../table.ts'
import { isComplete, matchTaskId, shortIdOf } from '../../task-ids.ts'
import { timeText } from './db.ts'

/** Events of one task that are shown at most. */
const maxEvents = 10_000

const defaultLimit = 50

type Log = Awaited<ReturnType<typeof openLog>>
type Query = Parameters<Log['list']>[0]
type Phase = NonNullable<Query['phase']>
type Head = Awaited<ReturnType<Log['list']>>['heads'][number]

export const tasks: Command = {
  description:
    'Lists the tasks of all owners in the log of an agent, with the newest change first; or shows one task with all its events. Reads only, and works while the agent runs.',
  positionals: [storePositional],
  options: {
    ...storeOptions,
    'task-id': { type: 'text', value: 'id', summary: 'Show this task and its events.', onlyFlag: true },
    'context-id': { type: 'text', value: 'id', summary: 'Only tasks of this context.', onlyFlag: true },
    owner: { type: 'text', value: 'id', summary: 'Only tasks of this owner.' },
    state: { type: 'text', value: 'state', summary: 'Only tasks in this state, such as working or input-required.' },
    since: { type: 'text', value: 'time', summary: 'Only tasks that changed since this time (ISO 8601).' },
    limit: { type: 'text', value: 'n', summary: 'How many tasks to list at most.', default: `${defaultLimit}` },
  },
  examples: [
    { line: 'parley tasks .parley/echo.db --state working', summary: 'What an agent works on' },
    { line: 'parley tasks .parley/echo.db --task-id 0199… -o json', summary: 'One task with its events' },
  ],
  async run(context) {
    await withStore(context, async (store) => {
      await requireMigrated(store)
      const log = await openLog(store)
      try {
        const taskId = context.settings.text('task-id')
        await (taskId === undefined ? listTasks(log, context) : showTask(log, await completeId(log, taskId), context))
      } finally {
        await log.close()
      }
    })
  },
}

/** Opening a log migrates it, which a command that reads must not do. */
async function requireMigrated(store: Store): Promise<void> {
  const admin = await openAdmin(store)
  const { steps, problem } = await admin.planMigration().finally(() => admin.close())
  if (problem !== undefined) throw new CliError('A2ACLI_ERR_INTERNAL', problem)
  if (steps.length === 0) return
  throw new CliError('A2ACLI_ERR_INTERNAL', 'The log has the format of an older version.', {
    hint: 'See parley db migrate.',
  })
}

/** A short id is the end or the start of one of the latest tasks. */
async function completeId(log: Log, text: string): Promise<string> {
  if (isComplete(text)) return text
  const { heads } = await log.list({ owner: '', also: 'everyone', limit: 200 })
  return matchTaskId(
    text,
    heads.map(({ taskId }) => taskId),
  )
}

async function listTasks(log: Log, { settings, output }: Context): Promise<void> {
  const [state, contextId, owner] = [settings.text('state'), settings.text('context-id'), settings.text('owner')]
  const query: Query = {
    owner: owner ?? '',
    ...defined({ also: owner === undefined ? ('everyone' as const) : undefined }),
    limit: settings.integer('limit') ?? defaultLimit,
    ...defined({ phase: state === undefined ? undefined : readState(state), contextId }),
    ...sinceOf(settings.text('since')),
  }
  const { heads, total } = await log.list(query)
  if (output.mode === 'json') return output.document({ tasks: heads.map(documentOf), total })
  if (output.isTerminal && heads.length > 0) printHeads(heads, output)
  for (const { taskId, contextId, owner, phase, changed, generation } of output.isTerminal ? [] : heads) {
    output.field(
      'Task',
      `${taskId} ${phase} ${timeText(changed)} context=${contextId} owner=${owner} events=${generation}`,
    )
  }
  output.field('Total', `${total}`)
}

function printHeads(heads: readonly Head[], output: Context['output']): void {
  const ids = heads.map(({ taskId }) => taskId)
  const rows = heads.map(({ taskId, owner, phase, changed, generation }) => [
    { text: shortIdOf(taskId, ids), format: 'bold' as const },
    defined({ text: phase, format: stateFormat(phase) }),
    { text: relativeTime(changed) },
    { text: `${generation}` },
    { text: owner },
  ])
  printTable(['TASK', 'STATE', 'CHANGED', 'EVENTS', 'OWNER'], rows, output)
  output.print('')
}

async function showTask(log: Log, taskId: string, { output }: Context): Promise<void> {
  const head = await log.head(taskId)
  if (!head) throw usageError(`The log has no task ${taskId}.`, 'See parley tasks for its tasks.')
  const events: Json[] = []
  for (let after = 0; after < Math.min(head.generation, maxEvents); ) {
    const page = await log.read(taskId, after)
    if (page.length === 0) break
    for (const event of page) events.push(toJson(event))
    after += page.length
  }
  if (output.mode === 'json') return output.document({ ...(documentOf(head) as object), events })
  output.field('Task', taskId)
  output.field('Context', head.contextId)
  output.field('Owner', head.owner)
  output.field('State', head.phase)
  output.field('Created', timeText(head.created))
  output.field('Changed', timeText(head.changed))
  for (const event of events) output.field('Event', JSON.stringify(event))
}

const states: readonly Phase[] = [
  ...(['submitted', 'working', 'input-required', 'auth-required'] as const),
  ...(['completed', 'failed', 'canceled', 'rejected'] as const),
]

/** Accepts `working` and `TASK_STATE_WORKING`. */
function readState(text: string): Phase {
  const name = text
    .toLowerCase()
    .replace(/^task_state_/, '')
    .replaceAll('_', '-')
  const state = states.find((candidate) => candidate === name)
  if (state === undefined) throw usageError(`--state: expected one of ${states.join(', ')}, got "${text}".`)
  return state
}

function sinceOf(text: string | undefined): Pick<Query, 'changedSince'> {
  if (text === undefined) return {}
  const changedSince = Date.parse(text)
  if (Number.isNaN(changedSince)) throw usageError(`--since: expected a time such as 2026-01-31T12:00Z, got "${text}".`)
  return { changedSince }
}

function documentOf(head: Omit<Head, 'key'>): Json {
  const { taskId, contextId, owner, phase, created, changed, generation, dialect } = head
  const times = { created: timeText(created), changed: timeText(changed) }
  return toJson({ taskId, contextId, owner, state: phase, ...times, events: generation, dialect })
}

function toJson(value: object): Json {
  return JSON.parse(JSON.stringify(value))
}
