import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const replies = await Promise.all(Array.from({ length: 40 }, (_, index) => worker.send(`number ${index}`)))
console.log(new Set(replies.map(({ text }) => text)).size)
