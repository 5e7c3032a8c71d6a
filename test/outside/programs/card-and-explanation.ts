import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
await worker.send('hello')
console.log(worker.card.name, worker.explain().endpoint?.binding)
