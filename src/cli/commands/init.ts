import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Command } from '../command.ts'
import { CliError, usageError } from '../errors.ts'
import { readVersion } from '../version.ts'

export const init: Command = {
  description:
    'Starts a project with an agent, a test, a client, a Dockerfile and a README. It runs create-parley-a2a, which npm installs if it is not there, and which asks for what is not given.',
  positionals: [{ name: 'folder', summary: 'A new folder.', optional: true, complete: 'folder' }],
  options: {
    template: {
      type: 'text',
      value: 'name',
      summary: 'What kind of project.',
      choices: ['plain', 'model', 'langgraph', 'express', 'next', 'worker', 'gateway'],
      default: 'asked, or plain',
      onlyFlag: true,
    },
    install: { type: 'flag', summary: 'Install the packages also without a terminal.', onlyFlag: true },
  },
  examples: [
    { line: 'parley init', summary: 'Choose folder and template by questions' },
    { line: 'parley init my-agent --template model', summary: 'A language model with tools' },
  ],
  async run({ positionals, settings }) {
    const [folder] = positionals
    const isWindows = process.platform === 'win32'
    if (isWindows && folder !== undefined && !/^[\w. :/\\-]+$/.test(folder)) {
      throw usageError(`${folder} cannot be passed to npm.`, 'Use letters, digits, dots and hyphens.')
    }
    const template = settings.text('template')
    const args = [
      ...(folder === undefined ? [] : [isWindows ? `"${folder}"` : folder]),
      ...(template === undefined ? [] : ['--template', template]),
      ...(settings.flag('install') ? ['--install'] : []),
    ]
    const line = ['exec', '--yes', '--', `create-parley-a2a@${readVersion()}`, ...args]
    // npm is a script on Windows, which only a shell runs.
    const child = spawn('npm', line, { stdio: 'inherit', shell: isWindows })
    const failed = once(child, 'error').then(() => {
      throw new CliError('A2ACLI_ERR_INTERNAL', 'npm was not found.', {
        hint: 'Install Node with npm, or run: npm create parley-a2a',
      })
    })
    const [code] = (await Promise.race([once(child, 'exit'), failed])) as [number | null]
    process.exitCode = code ?? 1
  },
}
