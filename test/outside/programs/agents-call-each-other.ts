import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

const urls = { ping: '', pong: '' }
const player = (name: string, other: keyof typeof urls) =>
  agent({ name }, async (turn) =>
    turn.text === 'serve' ? `${name}, ${(await turn.call(urls[other], 'return')).text}` : name,
  )
const servers = await Promise.all([serve(player('Ping', 'pong')), serve(player('Pong', 'ping'))])
urls.ping = servers[0].url
urls.pong = servers[1].url
console.log((await (await connect(urls.ping)).send('serve')).text)
console.log((await (await connect(urls.pong)).send('serve')).text)
await Promise.all(servers.map((server) => server.close()))
