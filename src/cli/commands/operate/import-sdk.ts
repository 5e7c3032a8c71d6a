import { existsSync } from 'node:fs'
import { defined, isObject, type Json, type JsonObject } from '../../../core/base/json.ts'
import { decodeResult } from '../../../core/dialects/v1.0/decode.ts'
import { dialectsOfVersion, protocolVersions } from '../../../core/dialects/versions.ts'
import { A2AError } from '../../../core/protocol/errors.ts'
import type { TaskEvent } from '../../../core/protocol/events.ts'
import { anonymous, ownerOf, type Principal, type Task } from '../../../core/protocol/model.ts'
import { isEnded, isInterrupted } from '../../../core/protocol/states.ts'
import type { Command, Context } from '../../command.ts'
import { CliError, usageError } from '../../errors.ts'
import { openAdmin, openLog, type Store, storeOptions, storePositional, withStore } from '../../store/open-store.ts'
import { openSdkDatabase, type SdkDatabase, type SdkPushConfig, type SdkTask } from '../../store/sdk-database.ts'

/** Problems that the command lists at most. */
const maxProblems = 100

/** The format of the JSON in the columns, as the SDK names it. */
const payloadFormat = '1.0'

/** The name under which the SDK stores the tasks of callers without credentials. */
const sdkAnonymous = 'unknown'

export const dbImportSdk: Command = {
  description:
    'Copies the tasks and push configurations of the official SDK (@a2a-js/sdk/server/database, from SQLite, PostgreSQL or MySQL) into a task log, which is created if it is missing. The database of the SDK is only read. What is in the log already is not copied again, so the command can be repeated: first while the old agent runs, and once more after it has stopped. Unfinished tasks are recovered when an agent starts on the log, as after a crash.',
  positionals: [{ ...storePositional, summary: `${storePositional.summary} It need not exist.` }],
  options: {
    ...storeOptions,
    from: {
      type: 'text',
      value: 'database',
      summary: 'The database of the SDK: a SQLite file, postgres://… or mysql://…',
      complete: 'file',
      secret: true,
    },
    'tasks-table': { type: 'text', value: 'name', summary: 'Its table of tasks.', default: 'tasks' },
    'push-table': {
      type: 'text',
      value: 'name',
      summary: 'Its table of push configurations.',
      default: 'push_notification_configs',
    },
    'dry-run': { type: 'flag', summary: 'Only count what would be copied.', onlyFlag: true },
  },
  examples: [
    {
      line: 'parley db import-sdk .parley/echo.db --from a2a.db --dry-run',
      summary: 'What the database of the SDK has, and whether it can be read',
    },
    {
      line: 'parley db import-sdk --schema parley_echo --from postgres://localhost/old',
      summary: 'Copy it to PARLEY_DATABASE_URL',
    },
  ],
  async run(context) {
    const { output, settings } = context
    const from = settings.text('from')
    if (from === undefined) throw usageError('From where? Pass --from <database of the SDK>.')
    const isDryRun = settings.flag('dry-run')
    await withStore(
      context,
      async (store) => {
        const sdk = await openSdkDatabase(context, from, {
          tasks: settings.text('tasks-table') ?? 'tasks',
          pushConfigs: settings.text('push-table') ?? 'push_notification_configs',
        })
        try {
          const log = isDryRun ? await openExisting(store) : await openLog(store)
          const done = output.progress(isDryRun ? 'Reading…' : 'Copying…')
          const report = await importAll(sdk, log, isDryRun).finally(() => log?.close())
          done()
          print(report, isDryRun, context)
        } finally {
          await sdk.close()
        }
      },
      { mayBeMissing: true },
    )
  },
}

type Log = Awaited<ReturnType<typeof openLog>>

/** The log, unless there is none yet. Opening one migrates it, which a dry run must not do. */
async function openExisting(store: Store): Promise<Log | undefined> {
  if (store.type === 'sqlite' && !existsSync(store.file)) return undefined
  const admin = await openAdmin(store)
  const plan = await admin.planMigration().finally(() => admin.close())
  if (plan.problem !== undefined) throw new CliError('A2ACLI_ERR_INTERNAL', plan.problem)
  if (plan.format === 0) return undefined
  if (plan.steps.length === 0) return await openLog(store)
  throw new CliError('A2ACLI_ERR_INTERNAL', 'The log has the format of an older version.', {
    hint: 'See parley db migrate.',
  })
}

interface Counts {
  found: number
  copied: number
  /** Were in the log before. */
  present: number
}

interface Report {
  readonly tasks: Counts
  readonly pushConfigs: Counts
  /** The number of problems, and the first of them. */
  failed: number
  readonly problems: string[]
}

async function importAll(sdk: SdkDatabase, log: Log | undefined, isDryRun: boolean): Promise<Report> {
  const report: Report = {
    tasks: { found: 0, copied: 0, present: 0 },
    pushConfigs: { found: 0, copied: 0, present: 0 },
    failed: 0,
    problems: [],
  }

  /** Copies one row. A row that cannot be copied does not keep the others from it. */
  async function attempt(counts: Counts, subject: string, copy: () => Promise<'copied' | 'present'>): Promise<void> {
    counts.found++
    try {
      counts[await copy()]++
    } catch (error) {
      const problem = problemOf(error)
      if (problem === undefined) throw error
      report.failed++
      if (report.problems.length < maxProblems) report.problems.push(`${subject} ${problem}`)
    }
  }

  for await (const row of sdk.tasks()) {
    await attempt(report.tasks, `Task ${row.id}`, () => copyTask(row, log, isDryRun))
  }
  for await (const row of sdk.pushConfigs()) {
    const subject = `Push configuration ${row.config_id} of task ${row.task_id}`
    await attempt(report.pushConfigs, subject, () => copyPushConfig(row, log, isDryRun))
  }
  return report
}

/** Why one row cannot be copied, to be read after its name. */
class RowProblem extends Error {}

function problemOf(error: unknown): string | undefined {
  if (error instanceof RowProblem) return error.message
  // An id or an owner that is too long for the log.
  return error instanceof A2AError && error.code === 'invalid-params' ? `is not copied: ${error.message}` : undefined
}

async function copyTask(row: SdkTask, log: Log | undefined, isDryRun: boolean): Promise<'copied' | 'present'> {
  const principal = principalOf(row)
  const owner = ownerOf(principal)
  const stored = await log?.head(row.id)
  if (stored && stored.owner !== owner) {
    throw new RowProblem(`of ${row.owner} is not copied: the log has a task with this id of another owner.`)
  }
  if (stored) return 'present'
  const task = readTask(row)
  if (isDryRun || !log) return 'copied'
  const events = eventsOf(task, principal)
  // The lease of a task that works has expired, so that the next agent recovers it.
  const lease = { holder: 'import-sdk', ttl: 1 }
  const created = await log.create({ taskId: task.id, contextId: task.contextId || task.id, owner }, events, { lease })
  if (created.type === 'stored' && isInterrupted(task.status.state)) {
    await log.release(task.id, created.lease.fence, created.generation)
  }
  return 'copied'
}

/** The task as the sum of its events: messages of the agent were messages of a status, as in every task. */
function eventsOf({ status, artifacts, history, metadata: taskMetadata }: Task, principal: Principal): TaskEvent[] {
  // The SDK also adds the message of the status to the history.
  const messages = history.filter(({ messageId }) => messageId !== status.message?.messageId)
  return [
    ...messages.map((message): TaskEvent => {
      if (message.role === 'user') return { type: 'message', message, principal }
      return { type: 'status', status: { state: 'working', message } }
    }),
    ...artifacts.map((artifact): TaskEvent => ({ type: 'artifact', artifact })),
    {
      type: 'status',
      status: defined({ ...status, taskMetadata }),
      // A task that waits for a message has the fence of its first lease.
      ...defined({ pausedUnder: isInterrupted(status.state) ? 1 : undefined }),
    },
  ]
}

async function copyPushConfig(
  row: SdkPushConfig,
  log: Log | undefined,
  isDryRun: boolean,
): Promise<'copied' | 'present'> {
  const owner = ownerOf(principalOf(row))
  const { wireVersion, ...payload } = readObject(row.config_data, 'config_data', row.protocol_version)
  const { url, token, authentication } = decode(() =>
    decodeResult.createPushConfig({ ...payload, id: row.config_id, taskId: row.task_id }, pushRequest),
  )
  const key = { taskId: row.task_id, owner, id: row.config_id }
  if (await log?.webhooks.get(key)) return 'present'
  if (isDryRun || !log) return 'copied'
  const head = await log.head(row.task_id)
  if (head?.owner !== owner) throw new RowProblem('is not copied: the log has no such task of its owner.')
  const uid = crypto.randomUUID()
  const isOver = head.phase === 'expired' || isEnded(head.phase)
  const version = protocolVersions.find((known) => known === wireVersion)
  const webhook = {
    uid,
    traceId: uid.replaceAll('-', ''),
    config: defined({ url, token: token || undefined, authentication }),
    contextId: head.contextId,
    ...defined({ dialect: version && dialectsOfVersion[version][0] }),
    state: isOver ? ('done' as const) : ('active' as const),
    // Only what happens from now on is delivered.
    cursor: head.generation,
    givenUp: 0,
    dead: [],
    redriven: [],
    recent: [],
    created: Date.now(),
  }
  await log.webhooks.add({ ...key, webhook, due: isOver ? undefined : webhook.created })
  return 'copied'
}

const pushRequest = { taskId: '', url: '' }

function principalOf({ tenant, owner }: Pick<SdkTask, 'tenant' | 'owner'>): Principal {
  const id = owner === sdkAnonymous ? anonymous.id : owner
  return defined({ id, tenant: tenant || undefined })
}

function readTask({ id, context_id: contextId, protocol_version: format, ...columns }: SdkTask): Task {
  const members = {
    status: readValue(columns.status, 'status', format),
    artifacts: readValue(columns.artifacts, 'artifacts', format),
    history: readValue(columns.history, 'history', format),
    metadata: readValue(columns.metadata, 'metadata', format),
  }
  return decode(() => decodeResult.getTask({ id, contextId, ...defined(members) }, { taskId: id }))
}

function readObject(text: string | null, column: string, format: string | null): JsonObject {
  const value = readValue(text, column, format) ?? {}
  if (!isObject(value)) throw new RowProblem(`cannot be read: ${column} is not a JSON object.`)
  return value as JsonObject
}

function readValue(text: string | null, column: string, format: string | null): Json | undefined {
  if (format !== null && format !== payloadFormat) {
    throw new RowProblem(`has the format ${format}; this version reads ${payloadFormat}. Update parley-a2a.`)
  }
  try {
    return text ? JSON.parse(text) : undefined
  } catch {
    throw new RowProblem(`cannot be read: ${column} is not JSON.`)
  }
}

function decode<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw new RowProblem(`cannot be read: ${error instanceof Error ? error.message : error}`)
  }
}

function print({ tasks, pushConfigs, failed, problems }: Report, isDryRun: boolean, { output }: Context): void {
  process.exitCode = failed === 0 ? 0 : 1
  if (output.mode === 'json') {
    output.document({ tasks: { ...tasks }, pushConfigs: { ...pushConfigs }, failed, problems, isDryRun })
    return
  }
  const verb = isDryRun ? 'to copy' : 'copied'
  output.field('Tasks', `${tasks.found} found, ${tasks.copied} ${verb}, ${tasks.present} were there`)
  output.field(
    'Push configurations',
    `${pushConfigs.found} found, ${pushConfigs.copied} ${verb}, ${pushConfigs.present} were there`,
  )
  for (const problem of problems) output.field('Problem', problem)
  if (failed > problems.length) output.field('More problems', `${failed - problems.length}`)
  if (isDryRun) output.note('Nothing was written. Run it without --dry-run to copy.')
}
