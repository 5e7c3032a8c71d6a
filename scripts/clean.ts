import { mkdirSync, rmSync } from 'node:fs'
import { resolve } from 'node:path'
import { argv } from 'node:process'

/**
 * Empties a directory before a build.
 *
 *     node scripts/clean.ts [directory]
 */
const directory = resolve(argv[2] ?? 'dist')

try {
  rmSync(directory, { recursive: true, force: true })
  mkdirSync(directory, { recursive: true })
} catch (error) {
  console.error(explain(error as NodeJS.ErrnoException))
  process.exitCode = 1
}

function explain({ code, message }: NodeJS.ErrnoException): string {
  const isForbidden = code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
  const advice = isForbidden
    ? 'It belongs to another user, perhaps because an earlier build ran with sudo, or its disk is read-only: remove it as that user, or change its owner.'
    : 'Remove it by hand, and build again.'
  return `The build cannot replace ${directory}. ${advice} (${message})`
}
