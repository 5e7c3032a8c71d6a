import type { Command } from '../command.ts'
import { usageError } from '../errors.ts'
import { commandHelp, commandList } from '../help.ts'

export const help: Command = {
  positionals: [{ name: 'command', summary: 'The command to explain.', optional: true, multiple: true }],
  examples: [
    { line: 'parley help', summary: 'List all commands' },
    { line: 'parley help task get', summary: 'Explain one' },
  ],
  async run({ positionals, output, commands }) {
    const path = positionals.join(' ')
    if (path === '') return output.print(commandList(commands, output.style))
    const entry = commands.find((candidate) => candidate.path === path)
    const below = commands.filter((candidate) => candidate.path.startsWith(`${path} `))
    if (entry) output.print(commandHelp(entry, await entry.load(), output.style))
    else if (below.length > 0) output.print(commandList(below, output.style))
    else throw usageError(`parley has no command "${path}".`, 'See parley help.')
  },
}
