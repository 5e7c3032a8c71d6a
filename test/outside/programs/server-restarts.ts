import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { connect } from 'parley-a2a/client'

const script = join(import.meta.dirname, '../restarting-server.ts')

async function start(port: number): Promise<{ readonly port: number; readonly server: ChildProcess }> {
  const server = spawn(process.execPath, [script, `${port}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  const line = await new Promise<string>((resolve) => server.stdout.once('data', (text) => resolve(`${text}`)))
  return { port: Number(line), server }
}

const { port, server: first } = await start(0)
const client = await connect(`http://127.0.0.1:${port}`)
const answers = [
  client.send('the first book').then(({ text }) => text),
  client.send('the second book', { returnImmediately: true }).then(async ({ task }) => {
    const { text } = await client.task(`${task?.id}`).wait({ timeout: 30_000 })
    return text
  }),
]
await new Promise((resolve) => setTimeout(resolve, 200))
first.kill('SIGKILL')
await new Promise((resolve) => setTimeout(resolve, 1_000))
const { server: second } = await start(port)
for (const text of await Promise.all(answers)) console.log(text)
second.kill('SIGKILL')
