import { connect } from 'parley-a2a/client'

const clients = await Promise.all(Array.from({ length: 10 }, () => connect(`${process.env.AGENT_URL}`)))
const replies = await Promise.all(clients.map((client) => client.send('hello')))
console.log(replies.length)
