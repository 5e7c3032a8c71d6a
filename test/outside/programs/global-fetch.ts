import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`, { fetch: globalThis.fetch })
console.log((await worker.send('hello')).text)
for await (const event of worker.stream('count 50')) if (event.type === 'artifact') break
