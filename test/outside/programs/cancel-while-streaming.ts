import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
for await (const event of worker.stream('count 500')) {
  if (event.type === 'artifact')
    await worker
      .task(event.taskId)
      .cancel()
      .catch(() => {})
  if (event.type === 'status') console.log(event.status.state)
}
