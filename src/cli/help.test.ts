import { stripVTControlCharacters } from 'node:util'
import { afterEach, expect, it } from 'vitest'
import { commands, commandsBelow } from './commands.ts'
import { commandHelp, commandList } from './help.ts'

const plain = (text: string) => text
const { columns } = process.stdout
afterEach(() => {
  process.stdout.columns = columns
})

it.each([60, 80, 120])('the list of commands has at most 40 lines and fits into %i columns', (width) => {
  process.stdout.columns = width
  const lines = commandList(commands, plain).split('\n')
  expect(lines.length).toBeLessThanOrEqual(40)
  for (const list of [lines, commandList(commandsBelow(['operator']), plain).split('\n')]) {
    for (const line of list) expect(line.length).toBeLessThanOrEqual(width)
  }
})

it.each([60, 80, 120])('the help of every command fits into %i columns', async (width) => {
  process.stdout.columns = width
  for (const entry of commands) {
    const help = stripVTControlCharacters(commandHelp(entry, await entry.load(), plain))
    // An address or a word of an example cannot be broken.
    for (const line of help.split('\n')) if (/\s\S/.test(line.trim())) expect(line.length).toBeLessThanOrEqual(width)
  }
})
