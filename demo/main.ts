import { agent, serve } from 'parley-a2a'

/** Makes a real task of any text: a status, an artifact in a few streamed chunks, and an end. */
const echo = agent(
  {
    name: 'Echo',
    description: 'Says your words back to you, one at a time.',
    skills: [{ id: 'echo', name: 'Echo', description: 'Repeats a text word by word.', tags: ['demo'] }],
  },
  async (turn) => {
    await turn.status('working', 'Listening')
    const echoed = turn.artifact('echo.txt')
    for (const word of turn.text.split(/(?<=\s)/)) await echoed.write(word)
    await echoed.close()
    await turn.status('completed', `You said: ${turn.text}`)
  },
)

const port = Number(process.env.PORT ?? 4000)
const server = await serve(echo, { port }).catch((error: Error) => {
  console.error(`${error.message}. For another port: PORT=4001 npm start`)
  process.exit(1)
})

const message = { messageId: 'hello-1', role: 'ROLE_USER', parts: [{ text: 'Hello Parley' }] }
const request = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'SendMessage', params: { message } })
const curl = (method: string, flags = '') =>
  `curl -s${flags} ${server.url} -H 'content-type: application/json' -H 'a2a-version: 1.0' -d '${request.replace('SendMessage', method)}'`

console.log(`
Echo is listening.

  address  ${server.url}
  card     ${server.cardUrl}
  tasks    ./.parley/echo.db (they survive a restart)

Ask it:

  ${curl('SendMessage')}

Watch it answer:

  ${curl('SendStreamingMessage', 'N')}

Stop it with Ctrl-C.
`)
