import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
const { task } = await worker.send('count 50', { returnImmediately: true })
const controller = new AbortController()
for await (const event of worker.task(`${task?.id}`).subscribe({ signal: controller.signal })) {
  console.log(event.type)
  if (event.type === 'artifact') controller.abort()
}
