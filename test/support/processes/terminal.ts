import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { spawn } from '@lydell/node-pty'
import { onTestFinished } from 'vitest'
import { until as eventually } from '../async.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

/** Milliseconds, far above what a command needs. */
const timeout = 40_000

export interface TerminalOptions {
  readonly home: string
  readonly columns?: number
}

/** Runs `parley` on a terminal, as a person does. */
export function startTerminal(args: readonly string[], { home, columns = 80 }: TerminalOptions) {
  const { PATH = '' } = process.env
  const terminal = spawn(process.execPath, [main, ...args], {
    cols: columns,
    rows: 40,
    cwd: home,
    env: { PATH, HOME: home, TERM: 'xterm-256color' },
  })
  let raw = ''
  let code: number | undefined
  terminal.onData((chunk) => {
    raw += chunk
  })
  terminal.onExit(({ exitCode }) => {
    code = exitCode
  })
  onTestFinished(() => {
    if (code === undefined) terminal.kill('SIGKILL')
  })
  const text = () => stripVTControlCharacters(raw).replaceAll('\r\n', '\n')
  const until = (pattern: RegExp) => eventually(() => pattern.test(text()), timeout)
  return {
    /** With the control sequences. */
    raw: () => raw,
    text,
    write: (keys: string) => terminal.write(keys),
    until,
    /** The exit code. */
    async ended(): Promise<number> {
      await eventually(() => code !== undefined, timeout)
      return code ?? -1
    },
  }
}
