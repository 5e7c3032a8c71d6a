import { agent, createHandler } from 'parley-a2a/server'

const delay = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

const pausing = agent({ name: 'Pausing' }, async (turn) => {
  const report = turn.artifact('report.txt')
  for (const word of ['one ', 'two ', 'three']) {
    await report.write(word)
    await delay(400)
  }
  return 'written'
})

const handler = createHandler(pausing, { auth: 'none' })

/** Without Durable Objects. The class is only there because the configuration of the tests names it. */
export class TaskObject {}
export default { fetch: (request: Request) => handler.fetch(request) }
