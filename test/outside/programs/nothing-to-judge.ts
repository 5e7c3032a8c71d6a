import { createOperatorClient } from 'parley-a2a/operator'
import { conformance } from 'parley-a2a/testing'

const failed = await conformance('localhost:4998').catch((error) => error)
console.log(failed.message)
const refused = await createOperatorClient({ url: 'http://localhost:4998/console' })
  .agents()
  .catch((error) => error)
console.log(refused.message)
for (const { message } of [failed, refused]) {
  if (!message.includes('nothing listens there')) throw new Error(`it does not say why: ${message}`)
}
