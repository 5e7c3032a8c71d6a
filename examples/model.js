import { once } from 'node:events'
import { createServer } from 'node:http'

/**
 * The model of the examples of agent frameworks: any OpenAI-compatible endpoint.
 *
 *     BASE_URL=http://localhost:11434/v1 MODEL=qwen3 npm run example langgraph
 *     BASE_URL=https://api.openai.com/v1 MODEL=gpt-5-mini API_KEY=… npm run example langgraph
 *
 * Without these variables, a stand-in on this machine speaks the protocol: it calls the first tool, and then reports its result.
 */
export async function openModel() {
  const { BASE_URL: baseURL, MODEL: model = 'stand-in', API_KEY: apiKey = 'none' } = process.env
  return { baseURL: baseURL ?? (await startStandIn()), model, apiKey }
}

/** One answer of the model, for frameworks that bring no model for such endpoints. */
export async function complete({ baseURL, model, apiKey }, messages, tools, signal) {
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${apiKey}` },
    body: JSON.stringify({ model, messages, tools: tools.map((each) => ({ type: 'function', function: each })) }),
    signal,
  })
  if (!response.ok) throw new Error(`The model answered with status ${response.status}.`)
  const { choices, usage } = await response.json()
  const { content, tool_calls: calls = [] } = choices[0].message
  return {
    text: content ?? '',
    calls: calls.map(({ id, function: { name, arguments: input } }) => ({ id, name, input: JSON.parse(input) })),
    inputTokens: usage?.prompt_tokens ?? 0,
    outputTokens: usage?.completion_tokens ?? 0,
  }
}

async function startStandIn() {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { messages, tools = [], stream } = JSON.parse(body)
    const last = messages.at(-1)
    const name = tools[0]?.function.name
    const call = { id: 'call-1', type: 'function', function: { name, arguments: '{"city":"Oslo"}' } }
    const said = typeof last.content === 'string' ? last.content : JSON.stringify(last.content)
    const message = last.role === 'tool' ? { content: `Done: ${said}` } : { content: null, tool_calls: [call] }
    answer(response, message, stream)
  })
  server.unref()
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${server.address().port}/v1`
}

function answer(response, message, stream) {
  const finish = message.tool_calls ? 'tool_calls' : 'stop'
  const common = { id: 'completion-1', created: 0, model: 'stand-in' }
  const usage = { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 }
  response.setHeader('content-type', stream ? 'text/event-stream' : 'application/json')
  if (!stream) {
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
    return response.end(JSON.stringify({ ...common, object: 'chat.completion', choices, usage }))
  }
  const send = (delta, finish_reason = null) => {
    const chunk = { ...common, object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  const calls = message.tool_calls?.map((call, index) => ({ index, ...call }))
  send({ role: 'assistant', ...(calls ? { tool_calls: calls } : { content: message.content }) })
  send({}, finish)
  response.end(
    `data: ${JSON.stringify({ ...common, object: 'chat.completion.chunk', choices: [], usage })}\n\ndata: [DONE]\n\n`,
  )
}
