import { readFileSync } from 'node:fs'

/** The version of the package, which the built command line finds at the same distance. */
export function readVersion(): string {
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version
}
