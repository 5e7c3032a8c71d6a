import { execFile, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const probe = 'import sys, pydantic, jsonschema; assert sys.version_info >= (3, 10) and pydantic.VERSION >= "2"'
const cache = fileURLToPath(new URL('../../../node_modules/.cache/parley-python', import.meta.url))

/** Finds a Python with the packages that `a2a_schemas` needs. Installs them only in CI. */
export async function findPython(): Promise<string | undefined> {
  const cached = `${cache}/bin/python`
  for (const python of ['python3', cached]) if (await works(python, ['-c', probe])) return python
  if (process.env.CI !== 'true') return undefined
  const isInstalled =
    (await works('python3', ['-m', 'venv', cache])) &&
    (await works(cached, ['-m', 'pip', 'install', '--quiet', 'pydantic>=2,<3', 'jsonschema>=4.18,<5'])) &&
    (await works(cached, ['-c', probe]))
  return isInstalled ? cached : undefined
}

/** Runs a program that may import `a2a_schemas`, and returns its output. */
export async function runPython(python: string, program: string, args: readonly string[] = []): Promise<string> {
  const packages = fileURLToPath(new URL('../../../schemas/python', import.meta.url))
  const env = { ...process.env, PYTHONPATH: packages, PYTHONUTF8: '1' }
  const { stdout } = await run(python, ['-B', '-c', program, ...args], { env, timeout: 60_000 })
  return stdout
}

/**
 * The verdicts of the Python schemas and models on each message, by `schemas/python/tests/verdicts.py`. Several
 * processes share the work, with backpressure.
 */
export async function pythonVerdicts(python: string, messages: readonly Buffer[]): Promise<readonly string[]> {
  const workers = messages.length < 10_000 ? 1 : availableParallelism()
  const share = Math.ceil(messages.length / workers)
  const shares = Array.from({ length: workers }, (_, at) => messages.slice(at * share, (at + 1) * share))
  return (await Promise.all(shares.map((part) => verdictsOf(python, part)))).flat()
}

async function verdictsOf(python: string, messages: readonly Buffer[]): Promise<readonly string[]> {
  const script = fileURLToPath(new URL('../../../schemas/python/tests/verdicts.py', import.meta.url))
  const child = spawn(python, ['-B', script], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONUTF8: '1' },
  })
  const [output] = await Promise.all([text(child.stdout), pipeline(Readable.from(linesOf(messages)), child.stdin)])
  return output.trimEnd().split('\n')
}

function* linesOf(messages: readonly Buffer[]): Generator<string> {
  for (const message of messages) yield `${message.toString('base64')}\n`
}

async function works(command: string, args: readonly string[]): Promise<boolean> {
  try {
    await run(command, args, { timeout: 120_000 })
    return true
  } catch {
    return false
  }
}
