import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { expect, it, onTestFinished } from 'vitest'
import { textOf } from '../../src/core/protocol/model.ts'
import { connect } from '../../src/entries/client.ts'
import { temporaryDirectory } from '../support/temporary-directory.ts'

it.each(['ai-sdk', 'langgraph', 'openai-agents', 'mastra', 'adk', 'strands'])(
  'the example of %s runs without a key and with one, and its question survives kill -9',
  { timeout: 180_000 },
  async (name) => {
    const directory = await temporaryDirectory()
    const first = await startExample(name, directory, {})
    const asked = await (await connect(first.url)).send('Book a flight to Oslo')
    const { task } = asked
    expect(task?.status.state).toBe('input-required')
    expect(textOf(task?.status.message ?? expect.fail('no question'))).toContain('Oslo')
    await first.kill()

    const endpoint = await startEndpoint()
    const second = await startExample(name, directory, { BASE_URL: endpoint.url, API_KEY: 'key-1', MODEL: 'model-1' })
    const done = await (await connect(second.url)).send('yes', { taskId: `${task?.id}` })
    expect(done.task?.status.state).toBe('completed')
    expect(done.output.text).toBe('From the endpoint.')
    expect(endpoint.requests).toHaveLength(1)
    const [{ authorization, body } = expect.fail('no request')] = endpoint.requests
    expect(authorization).toBe('Bearer key-1')
    expect(body).toContain('"model-1"')
    expect(body).toContain('Booked a flight to Oslo')
  },
)

/** Starts an example as its reader does, and waits until it listens. */
async function startExample(name: string, directory: string, variables: Readonly<Record<string, string>>) {
  // Vite sets BASE_URL.
  const { BASE_URL: _, ...inherited } = process.env
  const env = { ...inherited, PORT: '0', PARLEY_DIRECTORY: directory, ...variables }
  const child = spawn(process.execPath, ['scripts/example.ts', name], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  const kill = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  onTestFinished(kill)
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  for await (const line of createInterface(child.stdout)) if (URL.canParse(line)) return { url: line, kill }
  throw new Error(`The example ${name} did not start: ${errors}`)
}

/** An OpenAI-compatible endpoint that answers every request with the same text. */
async function startEndpoint() {
  const requests: { readonly authorization: string | undefined; readonly body: string }[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ authorization: request.headers.authorization, body })
    const common = { id: 'completion-1', created: 0, model: 'model-1' }
    const content = 'From the endpoint.'
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 }
    if (JSON.parse(body).stream === true) {
      response.setHeader('content-type', 'text/event-stream')
      const delta = { role: 'assistant', content }
      for (const choice of [
        { delta, finish_reason: null },
        { delta: {}, finish_reason: 'stop' },
      ]) {
        const chunk = { ...common, object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], usage }
        response.write(`data: ${JSON.stringify(chunk)}\n\n`)
      }
      response.end('data: [DONE]\n\n')
      return
    }
    response.setHeader('content-type', 'application/json')
    const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }]
    response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }))
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, requests }
}
