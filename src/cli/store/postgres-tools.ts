import { spawn } from 'node:child_process'
import { defined } from '../../core/base/json.ts'
import { CliError } from '../errors.ts'

/** Characters of an error text of the tool that are shown. */
const maxError = 500

/** Runs `pg_dump` or `pg_restore`. The password is in its environment, because every user can see its arguments. */
export async function runPostgresTool(
  name: 'pg_dump' | 'pg_restore',
  args: readonly string[],
  url: string,
  signal: AbortSignal,
): Promise<void> {
  const address = new URL(url)
  const password = decodeURIComponent(address.password)
  address.password = ''
  const env = { ...process.env, ...defined({ PGPASSWORD: password === '' ? undefined : password }) }
  const child = spawn(name, [...args, '--dbname', address.href], { env, stdio: ['ignore', 'ignore', 'pipe'], signal })
  let errors = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-maxError)
  })
  await new Promise<void>((done, fail) => {
    child.once('error', (cause: NodeJS.ErrnoException) => {
      const problem = cause.code === 'ENOENT' ? `${name} is not installed.` : `${name} did not start: ${cause.message}.`
      const hint = 'Install the client tools of PostgreSQL, such as the package postgresql-client.'
      fail(signal.aborted ? signal.reason : new CliError('A2ACLI_ERR_INTERNAL', problem, { hint, cause }))
    })
    child.once('close', (code) => {
      if (code === 0) return done()
      fail(
        new CliError('A2ACLI_ERR_INTERNAL', `${name} failed: ${errors.trim() || `exit code ${code}`}`, hintFor(errors)),
      )
    })
  })
}

/** The tools refuse servers that are newer than themselves. */
function hintFor(errors: string): { readonly hint: string } {
  const [, major] = /server version: (\d+)/.exec(errors) ?? []
  if (major !== undefined) return { hint: `Install the client tools of PostgreSQL ${major} or newer.` }
  return /already exists/.test(errors)
    ? { hint: 'The database has such a log. To replace it, pass --overwrite.' }
    : { hint: 'Check that the user of the URL may read and create the schema.' }
}
