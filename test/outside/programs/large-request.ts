import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const reply = await worker.send(['take this', { name: 'large.bin', content: new Uint8Array(4_000_000) }])
console.log(reply.text)
