/**
 * Runs one program as a user would start it. Reports on file descriptor 3 what keeps the process alive one second after its
 * last line, and ends the process with exit code 70 after five.
 */
import { writeSync } from 'node:fs'
import { pathToFileURL } from 'node:url'

await import(pathToFileURL(process.argv[2]).href)
// Unreferenced: they fire only if something else keeps the process alive.
setTimeout(() => writeSync(3, process.getActiveResourcesInfo().join(', ')), 1_000).unref()
setTimeout(() => process.exit(70), 5_000).unref()
