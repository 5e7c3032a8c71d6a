import { agent } from '../../../src/entries/index.ts'
import { model } from './model.ts'

export const poems = agent({ name: 'Poet', recovery: 'resume' }, async (turn) => {
  const words = await turn.step('write', async (within) => {
    const poem = within.artifact('poem.txt')
    let count = 0
    for await (const word of model.stream(`a poem about ${turn.text}`)) {
      await poem.write(word)
      count++
    }
    await poem.close()
    return count
  })
  await turn.ask('Publish it?')
  return `Published ${words} words`
})
