import { writeFileSync } from 'node:fs'
import { agentOptions, type Command, type CommandEntry, globalOptions, type Option } from '../src/cli/command.ts'
import { commands } from '../src/cli/commands.ts'
import { describeOption, optionLabel } from '../src/cli/help.ts'

/**
 * Writes the reference of the command line from the definitions of its commands.
 *
 *     node scripts/write-cli-docs.ts
 */
const groups = [...new Set(commands.map(({ group }) => group))]
const sections = await Promise.all(groups.map(writeGroup))
const text = [
  '# Commands of parley',
  '',
  'Written by `node scripts/write-cli-docs.ts` from the definitions that `parley help` shows. The guide is [the command line](../guides/cli.md).',
  '',
  ...sections.flat(),
  '## Options of commands that call an agent',
  '',
  ...optionTable(agentOptions),
  '## Options of every command',
  '',
  ...optionTable(globalOptions),
].join('\n')
writeFileSync('docs/reference/cli.md', `${text.trimEnd()}\n`)

async function writeGroup(group: string): Promise<readonly string[]> {
  const entries = commands.filter((entry) => entry.group === group && !entry.isHidden)
  const parts = await Promise.all(entries.map(async (entry) => writeCommand(entry, await entry.load())))
  return [`## ${group}`, '', ...parts.flat()]
}

function writeCommand({ path, summary }: CommandEntry, command: Command): readonly string[] {
  const { description, positionals = [], options = {}, examples = [] } = command
  const usage = positionals.map(({ name, optional, multiple }) => {
    const word = `<${name}>${multiple ? '…' : ''}`
    return optional ? `[${word}]` : word
  })
  const own = Object.fromEntries(Object.entries(options).filter(([name]) => !(name in agentOptions)))
  const callsAgent = 'agent-card' in options
  return [
    `### parley ${path}`,
    '',
    `${summary}.${description === undefined ? '' : ` ${description}`}`,
    '',
    '```sh',
    [`parley ${path}`, ...usage, '[options]'].join(' '),
    ...examples.flatMap(({ line, summary: what }) => ['', `# ${what}`, line]),
    '```',
    '',
    ...(Object.keys(own).length === 0 ? [] : optionTable(own)),
    ...(callsAgent
      ? ['It also has the [options of commands that call an agent](#options-of-commands-that-call-an-agent).', '']
      : []),
  ]
}

function optionTable(options: Readonly<Record<string, Option>>): readonly string[] {
  const rows = Object.entries(options).map(
    ([name, option]) => `| \`${escapePipes(optionLabel(name, option))}\` | ${escapePipes(describeOption(option))} |`,
  )
  return ['| option | meaning |', '|---|---|', ...rows, '']
}

function escapePipes(text: string): string {
  return text.replaceAll('|', '\\|')
}
