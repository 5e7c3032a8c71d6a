import { connect, data } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const reply = await worker.send([
  'These:',
  { name: 'q1.csv', content: 'a,b\n1,2', mediaType: 'text/csv' },
  data({ pages: 2 }),
  new Blob(['bytes'], { type: 'text/plain' }),
  new Uint8Array([1, 2, 3]),
  { path: import.meta.filename },
])
console.log(reply.text)
