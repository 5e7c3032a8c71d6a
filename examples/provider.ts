import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'
import { createAgentLoop, localTool } from 'parley-a2a/loop'
import { z } from 'zod'

/**
 * An agent on a model of any OpenAI-compatible provider:
 *
 *     BASE_URL=http://localhost:11434/v1 MODEL=qwen3 node examples/provider.ts
 *     BASE_URL=https://api.openai.com/v1 MODEL=gpt-5-mini API_KEY=… node examples/provider.ts
 *
 * Without these variables, a small stand-in on this machine speaks the provider's protocol, so that the example always runs.
 */

const standIn = process.env.BASE_URL === undefined ? await startStandIn() : undefined
const provider = createOpenAICompatible({
  name: 'provider',
  baseURL: process.env.BASE_URL ?? standIn?.url ?? '',
  ...(process.env.API_KEY !== undefined && { apiKey: process.env.API_KEY }),
})

const time = localTool({
  name: 'time',
  description: 'The time of day in a city.',
  input: z.object({ city: z.string() }),
  run: ({ city }) => ({ city, time: '12:00' }),
})
const guide = agent(
  { name: 'Guide', description: 'Answers questions about cities' },
  createAgentLoop({
    model: provider(process.env.MODEL ?? 'stand-in'),
    instructions: 'Answer in one sentence. Use the tool for the time.',
    tools: [time],
  }),
)

const server = await serve(guide)
const client = await connect(server.url)
for await (const event of client.stream('What time is it in Bern?')) {
  if (event.type === 'artifact')
    for (const part of event.artifact.parts) if ('text' in part) process.stdout.write(part.text)
}
console.log()
await server.close()
standIn?.close()

/** Answers two requests as a provider would: with a call of the tool, then with text in chunks. */
async function startStandIn() {
  const answers = [
    [
      {
        tool_calls: [{ index: 0, id: '1', type: 'function', function: { name: 'time', arguments: '{"city":"Bern"}' } }],
      },
    ],
    [{ content: 'It is noon ' }, { content: 'in Bern.' }],
  ]
  const http = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const deltas = answers.shift() ?? []
    for (const delta of deltas) response.write(chunkOf({ delta, finish_reason: null }))
    const reason = deltas.some((delta) => 'tool_calls' in delta) ? 'tool_calls' : 'stop'
    response.end(`${chunkOf({ delta: {}, finish_reason: reason })}data: [DONE]\n\n`)
  }).listen(0, '127.0.0.1')
  await once(http, 'listening')
  const { port } = http.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/v1`, close: () => void http.close() }
}

function chunkOf(choice: object): string {
  const chunk = {
    id: '1',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'stand-in',
    choices: [{ index: 0, ...choice }],
  }
  return `data: ${JSON.stringify(chunk)}\n\n`
}
