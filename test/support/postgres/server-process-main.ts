import { startPostgres } from './server.ts'

/**
 * Runs a PostgreSQL server while standard input is open, so that it also stops when the parent process is killed. The
 * argument is the server's settings; it prints the URL.
 */
const server = await startPostgres({ settings: JSON.parse(process.argv[2] ?? '{}') })
let isStopping = false
function stop(): void {
  if (isStopping) return
  isStopping = true
  server.stop().finally(() => process.exit())
}
// Ctrl-C interrupts the whole process group. This process waits until its parent has ended.
process.on('SIGINT', () => {}).on('SIGTERM', stop)
process.stdin.on('end', stop).on('error', stop).resume()
console.log(server.url)
