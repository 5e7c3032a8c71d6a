import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const controller = new AbortController()
console.log((await worker.send('hello', { signal: controller.signal })).text)
controller.abort()
console.log((await worker.send('again')).text)
