/** What is there is not what this version can work with; trying again does not help. */
export class Mismatch extends Error {
  override readonly name = 'Mismatch'
}

/** The connection broke or the server is not ready: what was asked may have been done or not. */
export function isDisconnected(error: unknown): boolean {
  const code = sqlState(error)
  // What does not come from the server comes from the way to it, unless somebody has ended the pool.
  if (code === undefined) return !isOurs(error) && !/after calling end/.test(messageOf(error))
  return code.startsWith('08') || passing.has(code)
}

/** Somebody else was in the way and the statement did nothing: the next try sees what the other did. */
export function isCollision(error: unknown): boolean {
  return ['23505', '40001', '40P01'].includes(sqlState(error) ?? '')
}

/** An error for the operator's log: what is wrong, what to do. It tells neither address nor password. */
export function explainTrouble(error: unknown, schema: string, what = 'The task log'): Error {
  const advice = advices[sqlState(error) ?? '']
  const where = `${what} in schema ${schema} of PostgreSQL`
  return new Error(`${where} ${advice ?? 'cannot be used'}: ${messageOf(error)}`, { cause: error })
}

/** Shutting down, crashing, starting up; too many connections; a server that has become a standby. */
const passing = new Set(['57P01', '57P02', '57P03', '57P05', '53300', '25006'])

const advices: Readonly<Record<string, string>> = {
  '28000': 'may not be used by this user. Check the user and how it has to authenticate (pg_hba.conf)',
  '28P01': 'may not be used: the password is wrong. Check the password of the pool',
  '3D000': 'cannot be used: there is no such database. Create it, or name another one in the pool',
  '42501':
    'may not be used by this user. Let it create the schema, or create the schema for it and grant it USAGE and CREATE',
  '53100': 'cannot grow: the disk of the server is full. Free some space; what was stored before is safe',
  '53300':
    'cannot be reached: the server has too many connections. Make the pools smaller, or raise its max_connections',
  '25006': 'may only be read: this server is a standby. Connect to the primary',
}

function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined
}

function isOurs(error: unknown): boolean {
  return error instanceof Mismatch || error instanceof TypeError
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // Errors that are several in one, as when no address of a name answers, have a code and no message.
  return error.message || ('code' in error ? String(error.code) : error.name)
}
