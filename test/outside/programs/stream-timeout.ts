import { connect } from 'parley-a2a/client'

const worker = await connect(`${process.env.AGENT_URL}`)
try {
  for await (const event of worker.stream('pause 20000', { timeout: 300 })) console.log(event.type)
} catch (error) {
  console.log((error as { code?: string }).code)
}
