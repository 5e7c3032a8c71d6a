import { randomBytes } from 'node:crypto'
import { chmodSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { apiKey, hashApiKey } from '../core/auth/schemes/api-key.ts'
import type { Logger } from '../core/base/logger.ts'
import { loggedError } from '../core/protocol/errors.ts'
import { type ConsoleAccess, createLoginLink, keyHeader, keyOperator, keyScheme } from '../operator/access.ts'
import type { ConsoleOptions } from '../operator/options.ts'
import { createPrivateDirectory } from '../stores/sqlite/schema.ts'

/** The file with the key of a server, in the folder of its task logs. */
export const keyFileName = 'operator-key'

/** The folder of a server that was started without `directory`. */
export const defaultDirectory = '.parley'

export interface KeyPlace {
  readonly directory: string
  readonly logger: Logger
}

/** Decides how operators log in: by the schemes of `auth`, or by the key of this server, which is made at its first start. */
export async function openConsoleAccess(
  options: ConsoleOptions,
  { directory, logger }: KeyPlace,
): Promise<ConsoleAccess> {
  const { auth } = options
  if (auth !== undefined) return { ...options, auth }
  const file = join(directory, keyFileName)
  const { key, description } = openKey(file, logger)
  const keys = [{ ...keyOperator, hash: await hashApiKey(key) }]
  return {
    ...options,
    auth: { schemes: { [keyScheme]: apiKey({ name: keyHeader, keys, description }) } },
    link: createLoginLink(),
  }
}

/** Reads the key of a server. Undefined if there is none yet. Throws if the file has anything else. */
export function readOperatorKey(file: string): string | undefined {
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
  if (text === '' || /^[\w-]{43}$/.test(text)) return text || undefined
  throw new Error(
    `${file}: expected the key of a server, which has 43 characters. Remove the file: the server makes another key at its next start.`,
  )
}

function openKey(file: string, logger: Logger): { readonly key: string; readonly description: string } {
  try {
    const key = readOperatorKey(file) ?? createKey(file)
    // The umask and a copied folder may have opened it to other users of this machine.
    if ((statSync(file).mode & 0o077) !== 0) chmodSync(file, 0o600)
    return {
      key,
      description: `The key of this server is in the file ${file}. The server printed a link at its start.`,
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === undefined) throw error
    logger.warn({ file, error: loggedError(error) }, 'the operator key cannot be stored: it ends with this process')
    return { key: newKey(), description: 'Open the link that the server printed at its start. It is valid once.' }
  }
}

function createKey(file: string): string {
  const key = newKey()
  createPrivateDirectory(dirname(file))
  try {
    // Not through a link, and not over the key of another process that starts just now.
    writeFileSync(file, `${key}\n`, { mode: 0o600, flag: 'wx' })
    return key
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return waitForKey(file)
    // An incomplete file would be an error at every start.
    rmSync(file, { force: true })
    throw error
  }
}

/** Another process has created the file and writes its key within microseconds. */
function waitForKey(file: string): string {
  for (let attempt = 0; attempt < 50; attempt++) {
    const key = readOperatorKey(file)
    if (key !== undefined) return key
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
  }
  throw new Error(`${file} is empty. Remove the file: the server makes another key at its next start.`)
}

function newKey(): string {
  return randomBytes(32).toString('base64url')
}
