import { startPostgres } from './server.ts'

/**
 * A process that holds a PostgreSQL for as long as its standard input is open, so that the server also goes when
 * whoever wanted it was killed. Its argument is the server's settings; it prints the address.
 */
const server = await startPostgres({ settings: JSON.parse(process.argv[2] ?? '{}') })
let isStopping = false
function stop(): void {
  if (isStopping) return
  isStopping = true
  server.stop().finally(() => process.exit())
}
// What interrupts a whole group of processes interrupts this one too: it goes when the others have gone.
process.on('SIGINT', () => {}).on('SIGTERM', stop)
process.stdin.on('end', stop).on('error', stop).resume()
console.log(server.url)
