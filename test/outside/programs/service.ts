import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const message = { messageId: crypto.randomUUID(), role: 'user', parts: [{ text: 'hello' }] } as const
const call = { principal: { id: 'anonymous' }, signal: new AbortController().signal }
console.log((await worker.service.sendMessage({ message }, call)).type)
