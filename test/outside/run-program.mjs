/**
 * Runs one program as a user would start it, and reports on file descriptor 3 what keeps the process alive one second after
 * its last line.
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

await import(pathToFileURL(process.argv[2]).href)
// Unreferenced: it fires only if something else keeps the process alive.
setTimeout(() => writeSync(3, process.getActiveResourcesInfo().join(', ')), 1_000).unref()
