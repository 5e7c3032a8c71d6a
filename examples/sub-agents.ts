import assert from 'node:assert/strict'
import { agent, serve } from 'parley-a2a'
import { connect } from 'parley-a2a/client'

/** A planner calls three agents at once. One of them asks a question, which reaches the planner's own caller. */

const flights = agent({ name: 'Flights' }, (turn) => `A flight to ${turn.text} costs 120 €.`)

const hotels = agent({ name: 'Hotels' }, async (turn) => {
  const { text: stars } = await turn.ask('How many stars?')
  return `A hotel with ${stars} stars in ${turn.text} costs 90 €.`
})

const weather = agent({ name: 'Weather' }, async (turn) => turn.fail('The weather service is closed.'))

const planner = agent({ name: 'Planner' }, async (turn) => {
  await turn.status('working', 'Asking the others')
  const calls = [flights, hotels, weather].map((other) => [other, turn.text] as const)
  const answers = await turn.callAll(calls)
  const plan = turn.artifact('plan.md')
  for (const answer of answers) await plan.write(`- ${answer.ok ? answer.answer.text : answer.error.message}\n`)
  return `${answers.filter(({ ok }) => ok).length} of ${answers.length} agents answered.`
})

const server = await serve(planner)
const conversation = (await connect(server.url)).conversation()
const question = await conversation.send('Rome')
console.log('Hotels asks through the planner:', question.text)
assert.equal(question.task?.status.state, 'input-required')

const plan = await conversation.send('4')
console.log(plan.artifacts[0]?.text)
console.log(plan.text)
assert.equal(plan.text, '2 of 3 agents answered.')
assert.match(plan.artifacts[0]?.text ?? '', /4 stars/)
await server.close()
