import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { PostgresServer } from './server.ts'

const script = fileURLToPath(new URL('./server-process-main.ts', import.meta.url))

/** Starts a PostgreSQL server that stops with this process, however that ends. */
export async function startPostgresProcess(settings: Readonly<Record<string, string>> = {}): Promise<PostgresServer> {
  const child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', (text) => {
    stderr += text
  })
  const exited = once(child, 'exit')
  const url = await Promise.race([once(createInterface(child.stdout), 'line').then(String), exited.then(() => '')])
  if (!url) throw new Error(`PostgreSQL did not start: ${stderr}`)
  return {
    url,
    async stop() {
      child.stdin.end()
      await exited
    },
  }
}
