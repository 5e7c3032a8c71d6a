import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, onTestFinished } from 'vitest'
import { compileCacheEnv } from '../../loop/mcp/support/compile-cache-env.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))

export interface CliOptions {
  readonly env?: Readonly<Record<string, string>>
  /** What the process reads from stdin. */
  readonly input?: string
  /** The working folder. Defaults to an empty one. */
  readonly cwd?: string
}

export interface CliResult {
  readonly code: number | NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** The JSON document on stdout. */
  json(): Json
  /** The JSON documents on stdout, one per line. */
  lines(): readonly Json[]
  /** The value of a `Label: value` line on stdout. */
  field(label: string): string | undefined
}

// biome-ignore lint/suspicious/noExplicitAny: tests read the members that they expect.
type Json = any

/** A running command line. */
export interface CliProcess {
  readonly child: ChildProcessWithoutNullStreams
  readonly stdout: () => string
  readonly stderr: () => string
  /** Resolves when the output matches. Rejects if the process ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  readonly result: Promise<CliResult>
}

/** Runs `parley` as a process, with a home folder of its own for every test file. Must be called at the top of it. */
export function shareCli() {
  let home = ''
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'parley-cli-'))
  })
  afterAll(() => rm(home, { recursive: true, force: true }))

  function start(args: readonly string[], { env = {}, input, cwd = home }: CliOptions = {}): CliProcess {
    const { PATH } = process.env
    const child = spawn(process.execPath, [main, ...args], {
      cwd,
      env: { PATH, HOME: home, ...compileCacheEnv(), ...env },
    })
    onTestFinished(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk
    })
    child.stderr.setEncoding('utf8').on('data', (chunk) => {
      stderr += chunk
    })
    // A process that needs no input may end before it has taken it.
    child.stdin.on('error', () => {})
    if (input !== undefined) child.stdin.end(input)
    const result = once(child, 'close').then(([code, signal]) => toResult(code ?? signal, stdout, stderr))
    return {
      child,
      stdout: () => stdout,
      stderr: () => stderr,
      result,
      async until(pattern) {
        for (;;) {
          const match = pattern.exec(stdout) ?? pattern.exec(stderr)
          if (match) return match
          const ended = await Promise.race([
            once(child.stdout, 'data').then(() => false),
            once(child.stderr, 'data').then(() => false),
            result.then(() => true),
          ])
          const last = pattern.exec(stdout) ?? pattern.exec(stderr)
          if (last) return last
          if (ended) throw new Error(`The process ended without ${pattern}: ${stdout}${stderr}`)
        }
      },
    }
  }

  return {
    home: () => home,
    start,
    /** Runs to the end. */
    run: (args: readonly string[], options: CliOptions = {}) => start(args, { input: '', ...options }).result,
  }
}

function toResult(code: CliResult['code'], stdout: string, allStderr: string): CliResult {
  // A busy machine makes any command take long enough for a line about its progress.
  const stderr = allStderr.replace(/^.*…\n/gm, '')
  return {
    code,
    stdout,
    stderr,
    json: () => JSON.parse(stdout),
    lines: () =>
      stdout
        .split('\n')
        .filter(Boolean)
        .map((line) => JSON.parse(line)),
    field: (label) => new RegExp(`^${label}: (.*)$`, 'm').exec(stdout)?.[1],
  }
}
