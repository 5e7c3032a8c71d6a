import { agent } from '../../../src/core/agent/agent.ts'
import { serve } from '../../../src/serve/serve.ts'

/** A server as a user writes it: its operator configures it by the environment. The argument has options as JSON. */
const server = await serve(
  agent({ name: 'Echo' }, (turn) => {
    if (turn.text === 'fail') throw new Error('the shelf is empty')
    return turn.text
  }),
  JSON.parse(process.argv[2] ?? '{}'),
)
console.log(server.url)
if (process.argv[3] === 'close') await server.close()
