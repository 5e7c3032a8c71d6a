import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { programPath } from './programs.ts'

/** The lowest supported versions of Node, by major version. The suite itself runs on the version of `toolchain/`. */
export const oldNodes = ['node-22.13', 'node-24.0'] as const

/** How long a run may take, in milliseconds. */
const timeout = 40 * 60_000

export interface SuiteResult {
  readonly passed: boolean
  /** The end of what the run printed, without colours. */
  readonly output: string
}

/** Runs Vitest on an older Node, with the given arguments. */
export async function runSuiteOn(
  node: (typeof oldNodes)[number],
  args: readonly string[],
  options: { readonly signal?: AbortSignal; readonly print?: boolean } = {},
): Promise<SuiteResult> {
  const program = await programPath(node)
  const vitest = fileURLToPath(new URL('../../../node_modules/vitest/vitest.mjs', import.meta.url))
  const outer = Object.entries(process.env).filter(([name]) => !/^(VITEST|TEST$|NODE_V8_COVERAGE)/.test(name))
  const env = {
    ...Object.fromEntries(outer),
    PATH: `${dirname(program)}:${process.env.PATH}`,
    // Test processes are TypeScript, which Node runs without a flag from 22.18 on.
    NODE_OPTIONS: '--experimental-strip-types --disable-warning=ExperimentalWarning',
    NO_COLOR: '1',
  }
  const cwd = fileURLToPath(new URL('../../..', import.meta.url))
  const child = spawn(program, [vitest, 'run', ...args], { cwd, env, timeout, ...options })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (options.print) process.stdout.write(text)
      output = (output + text).slice(-20_000)
    })
  }
  const [code] = await once(child, 'close')
  return { passed: code === 0, output }
}
