import { agent, serve } from 'parley-a2a'

/** Answers any text with a complete task: a status, an artifact in streamed chunks, and a final status. */
const echo = agent(
  {
    name: 'Echo',
    description: 'Repeats your words, one at a time.',
    skills: [{ id: 'echo', name: 'Echo', description: 'Repeats a text word by word.', tags: ['demo'] }],
  },
  async (turn) => {
    await turn.status('working', 'Listening')
    const echoFile = turn.artifact('echo.txt')
    for (const word of turn.text.split(/(?<=\s)/)) await echoFile.write(word)
    await echoFile.close()
    await turn.status('completed', `You said: ${turn.text}`)
  },
)

const port = Number(process.env.PORT ?? 4000)
const server = await serve(echo, { port, grpc: true }).catch((error: Error) => {
  const { syscall } = (error.cause ?? {}) as NodeJS.ErrnoException
  console.error(syscall === 'listen' ? `${error.message}. For another port: PORT=4001 npm start` : error.message)
  process.exit(1)
})

const text = 'Hello Parley'
const message = { messageId: 'hello-1', role: 'ROLE_USER', parts: [{ text }] }
const legacyMessage = { kind: 'message', messageId: 'hello-1', role: 'user', parts: [{ kind: 'text', text }] }
const rpc = (method: string, params: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
const curl = (path: string, body: string, flags = '-s') =>
  `curl ${flags} ${server.url}${path} -H 'content-type: application/json' -d '${body}'`

console.log(`
Echo is listening. It speaks A2A 1.0, 0.3, 0.2 and 0.1, over JSON-RPC, REST and gRPC, all on one port.

  address  ${server.url}
  card     ${server.cardUrl}
  tasks    ./.parley/echo.db (they survive a restart)

Send it a message:

  ${curl('/', rpc('SendMessage', { message }))}

Stream the response:

  ${curl('/', rpc('SendStreamingMessage', { message }), '-sN')}

The same over REST, and as A2A 0.3:

  ${curl('/message:send', JSON.stringify({ message }))}
  ${curl('/', rpc('message/send', { message: legacyMessage }))}

Stop it with Ctrl-C.
`)
