import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const talk = worker.conversation()
for (const text of ['pause 10', 'pause 11', 'pause 12']) await talk.send(text)
let count = 0
for await (const task of worker.listTasks({ contextId: `${talk.contextId}`, pageSize: 1 })) count += task.id ? 1 : 0
console.log(count)
