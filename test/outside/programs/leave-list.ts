import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for (const text of ['pause 10', 'pause 11', 'pause 12']) await worker.send(text)
for await (const task of worker.listTasks({ pageSize: 1 })) {
  console.log(task.status.state)
  break
}
