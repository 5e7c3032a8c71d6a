import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Json } from '../../../core/base/json.ts'
import type { LogStats, MigrationPlan } from '../../../entries/sqlite.ts'
import type { Command, Context } from '../../command.ts'
import { CliError, usageError } from '../../errors.ts'
import {
  engineOf,
  openAdmin,
  openLog,
  type Store,
  storeOptions,
  storePositional,
  withStore,
} from '../../store/open-store.ts'
import { runPostgresTool } from '../../store/postgres-tools.ts'

export const dbBackup: Command = {
  description:
    'Writes a copy of the task log as of one moment, while agents run. Copying the file of a SQLite log instead loses the newest tasks, which are in its write-ahead log. A PostgreSQL log is copied by pg_dump, which must be installed. A backup has the messages of callers and the secrets of webhooks: protect it like the log.',
  positionals: [storePositional],
  options: {
    ...storeOptions,
    to: { type: 'text', value: 'file', summary: 'The file to write, which must not exist.', complete: 'file' },
  },
  examples: [
    { line: 'parley db backup .parley/echo.db --to monday.db', summary: 'Back up the log of a running agent' },
    { line: 'parley db backup --schema parley_echo --to monday.dump', summary: 'The same for PARLEY_DATABASE_URL' },
  ],
  async run(context) {
    const { output, settings, signal } = context
    const target = settings.text('to')
    if (target === undefined) throw usageError('Where to? Pass --to <file>.')
    if (existsSync(target)) throw usageError(`${target} exists, and a backup replaces no file.`, 'Pass another name.')
    await withStore(context, async (store) => {
      if (store.type === 'mysql') throw mysqlToolError('Backing up', 'mysqldump --single-transaction')
      const done = output.progress('Backing up…')
      if (store.type === 'sqlite') {
        const { createSqliteAdmin } = await import('../../../entries/sqlite.ts')
        await createSqliteAdmin({ file: store.file }).backup(target)
      } else {
        const args = ['--format=custom', `--schema=${store.schema}`, `--file=${resolve(target)}`]
        // Only the owner may read the file.
        process.umask(0o077)
        await runPostgresTool('pg_dump', args, store.url, signal)
      }
      done()
      const bytes = statSync(target).size
      if (output.mode === 'json') return output.document({ backup: resolve(target), bytes })
      output.field('Backup', target)
      output.field('Size', sizeText(bytes))
    })
  },
}

export const dbRestore: Command = {
  description:
    'Puts a backup in the place of a task log. Stop its agents first: a log in use is refused. The backup is checked before, and stays as it is. Tasks that were running are recovered when an agent starts.',
  positionals: [{ ...storePositional, summary: `${storePositional.summary} It need not exist.` }],
  options: {
    ...storeOptions,
    from: { type: 'text', value: 'file', summary: 'The backup.', complete: 'file' },
    overwrite: { type: 'flag', summary: 'Replace the log if it exists. Its tasks are lost.', onlyFlag: true },
  },
  examples: [
    { line: 'parley db restore .parley/echo.db --from monday.db', summary: 'Restore a log that is gone' },
    { line: 'parley db restore .parley/echo.db --from monday.db --overwrite', summary: 'Go back to a backup' },
  ],
  async run(context) {
    const { output, settings, positionals, signal } = context
    const backup = settings.text('from')
    const isOverwrite = settings.flag('overwrite')
    if (backup === undefined) throw usageError('From where? Pass --from <backup>.')
    if (!existsSync(backup)) throw usageError(`There is no backup ${backup}.`, 'Check the path.')
    const [file = ''] = positionals
    if (engineOf(file) === 'mysql') throw mysqlToolError('Restoring', 'mysql')
    if (file !== '' && engineOf(file) === 'sqlite') {
      if (existsSync(file) && !isOverwrite) {
        throw usageError(`${file} exists, and its tasks would be lost.`, 'Move it, or pass --overwrite.')
      }
      const { restoreSqliteLog } = await import('../../../entries/sqlite.ts')
      await restoreSqliteLog({ backup, file, overwrite: isOverwrite }).catch((cause) => {
        throw new CliError('A2ACLI_ERR_INTERNAL', cause instanceof Error ? cause.message : `${cause}`, { cause })
      })
    } else {
      await withStore({ ...context, settings: withSchema(settings) }, async (store) => {
        if (store.type !== 'postgres') return
        const args = [
          '--exit-on-error',
          '--single-transaction',
          ...(isOverwrite ? ['--clean', '--if-exists'] : []),
          backup,
        ]
        await runPostgresTool('pg_restore', args, store.url, signal)
      })
    }
    if (output.mode === 'json') output.document({ restored: file === '' ? 'PostgreSQL' : output.redact(file), backup })
    else output.field('Restored', file === '' ? 'PostgreSQL' : output.redact(file))
  },
}

function mysqlToolError(action: string, tool: string): CliError {
  return usageError(`${action} a MySQL log is not part of this command.`, `Use ${tool} on its database.`)
}

/** The schema to restore comes from the dump, and need not exist. */
function withSchema(settings: Context['settings']): Context['settings'] {
  return { ...settings, text: (name) => settings.text(name) ?? (name === 'schema' ? 'public' : undefined) }
}

export const dbCheck: Command = {
  description:
    'Reads the whole log, while agents run, and lists damaged pages, missing events and rows without a task. Ends with 1 if there are any.',
  positionals: [storePositional],
  options: storeOptions,
  examples: [{ line: 'parley db check .parley/echo.db', summary: 'Check a log' }],
  async run(context) {
    const { output } = context
    await withStore(context, async (store) => {
      const done = output.progress('Reading the log…')
      const report = await admin(store, (log) => log.checkIntegrity())
      done()
      process.exitCode = report.isIntact ? 0 : 1
      if (output.mode === 'json') return output.document(toJson(report))
      output.field('Intact', report.isIntact ? 'yes' : 'no')
      for (const problem of report.problems) output.field('Problem', problem)
    })
  },
}

export const dbStats: Command = {
  description:
    'Shows the size of a task log, its tasks by state, and when old tasks were last removed. Agents may run.',
  positionals: [storePositional],
  options: storeOptions,
  examples: [{ line: 'parley db stats .parley/echo.db', summary: 'Measure a log' }],
  async run(context) {
    const { output } = context
    await withStore(context, async (store) => {
      const stats = await admin(store, (log) => log.stats())
      if (output.mode === 'json') return output.document(toJson(stats))
      printStats(stats, context)
    })
  },
}

export const dbMigrate: Command = {
  description:
    'Shows what the first start of an agent with this version would change in the tables of a log. With --apply, changes it now. All steps run in one transaction.',
  positionals: [storePositional],
  options: {
    ...storeOptions,
    apply: { type: 'flag', summary: 'Migrate the log.', onlyFlag: true },
    sql: { type: 'flag', summary: 'Show the statements.' },
  },
  examples: [
    { line: 'parley db migrate .parley/echo.db --sql', summary: 'See what a migration would do' },
    { line: 'parley db migrate .parley/echo.db --apply', summary: 'Migrate a log before the agents start' },
  ],
  async run(context) {
    const { output, settings } = context
    await withStore(context, async (store) => {
      const plan = await admin(store, (log) => log.planMigration())
      if (plan.problem !== undefined) throw new CliError('A2ACLI_ERR_INTERNAL', plan.problem)
      const isApplied = settings.flag('apply') && plan.steps.length > 0
      if (isApplied) await (await openLog(store)).close()
      if (output.mode === 'json') return output.document({ ...(toJson(plan) as object), isApplied })
      printPlan(plan, context)
      output.field('Applied', isApplied ? 'yes' : 'no')
      if (plan.steps.length > 0 && !isApplied) output.note('Back the log up, then run it with --apply.')
    })
  },
}

async function admin<T>(store: Store, work: (admin: Awaited<ReturnType<typeof openAdmin>>) => Promise<T>): Promise<T> {
  const opened = await openAdmin(store)
  try {
    return await work(opened)
  } finally {
    await opened.close()
  }
}

function printStats(
  { agent, format, size, tasks, events, webhooks, oldest, newest, retention }: LogStats,
  { output }: Context,
) {
  const { field } = output
  if (agent !== undefined) field('Agent', agent)
  field('Format', `${format}`)
  field('Size', sizeText(size.total))
  for (const [name, bytes] of Object.entries(size.parts)) field(`Size of ${name}`, sizeText(bytes))
  if (size.reusable !== undefined) field('Reusable', sizeText(size.reusable))
  for (const [state, count] of Object.entries(tasks)) field(`Tasks ${state}`, `${count}`)
  field('Events', `${events}`)
  field('Webhooks', `${webhooks}`)
  if (oldest !== undefined) field('Oldest', timeText(oldest))
  if (newest !== undefined) field('Newest', timeText(newest))
  field('Last removal', retention.lastRun === undefined ? 'never' : timeText(retention.lastRun))
  field('Removed tasks', `${retention.expired}`)
}

function printPlan({ format, newest, steps }: MigrationPlan, { output, settings }: Context): void {
  output.field('Format', `${format}`)
  output.field('Newest format', `${newest}`)
  output.field('Steps', `${steps.length}`)
  for (const step of steps) {
    const effect = step.breaksOlder ? 'older versions cannot use the log afterwards' : 'older versions can still use it'
    output.field('Step', `to format ${step.format}; ${effect}`)
    if (settings.flag('sql')) output.field('SQL', `${step.sql.trim()}\n `)
  }
}

export function timeText(milliseconds: number): string {
  return new Date(milliseconds).toISOString()
}

function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  const power = Math.min(units.length, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1024 ** power).toFixed(1)} ${units[power - 1]}`
}

function toJson(value: object): Json {
  return JSON.parse(JSON.stringify(value))
}
