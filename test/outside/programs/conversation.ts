import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const talk = worker.conversation()
const question = await talk.send('ask')
console.log(question.text)
console.log((await talk.send('blue')).text)
