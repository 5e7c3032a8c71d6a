import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { createConsumer, entryNames } from '../support/package/consumer.ts'
import { hasPrograms, programPath } from '../support/programs/programs.ts'

const isBuilt = existsSync(new URL('../../dist/index.d.ts', import.meta.url))

const compilerOptions = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noEmit: true,
  target: 'ES2022',
  module: 'NodeNext',
  types: ['node'],
}

/** Imports every entry, and uses the types that depend on optional peers. */
const everyEntry = [
  ...entryNames.map((name, index) => `import * as entry${index} from '${name}'`),
  `console.log(${entryNames.map((_, index) => `entry${index}`)})`,
].join('\n')

const oneAgent = `
  import { agent, serve, type Turn } from 'parley-a2a'
  import { connect } from 'parley-a2a/client'
  const echo = agent({ name: 'Echo' }, async (turn: Turn) => turn.text)
  const server = await serve(echo, { port: 0, grpc: true })
  const { text } = await (await connect(server.url)).send('Hello')
  // @ts-expect-error: a reply has a text
  const wrong: number = text
  // @ts-expect-error: an option that does not exist
  await serve(echo, { prot: 4000 })
`

const withOperators = `
  import { createAgentLoop } from 'parley-a2a/loop'
  import { tap } from 'rxjs'
  declare const model: Parameters<typeof createAgentLoop>[0]['model']
  createAgentLoop({ model, operators: [tap((event) => event.type satisfies 'status' | 'artifact')] })
  // @ts-expect-error: not a model of the AI SDK
  createAgentLoop({ model: 1 })
`

const peers = ['@ai-sdk/provider', '@modelcontextprotocol/client', '@opentelemetry/api', 'rxjs']

describe.skipIf(!isBuilt || !hasPrograms)('the types of the built package', { timeout: 240_000 }, () => {
  it.each(['typescript-5.4', 'typescript', 'typescript-7'] as const)(
    'every entry compiles with skipLibCheck: false and without optional peers: %s',
    async (version) => {
      expect(await compile(version, [], { 'entries.ts': everyEntry, 'agent.ts': oneAgent })).toBe('')
    },
  )

  it('the types of optional peers are used where they are installed', async () => {
    expect(await compile('typescript-7', peers, { 'entries.ts': everyEntry, 'loop.ts': withOperators })).toBe('')
  })
})

type Compiler = 'typescript' | 'typescript-5.4' | 'typescript-7'

/** Returns the errors of the compiler. */
async function compile(compiler: Compiler, packages: readonly string[], files: Readonly<Record<string, string>>) {
  const tsc =
    compiler === 'typescript'
      ? createRequire(import.meta.url).resolve('typescript/bin/tsc')
      : await programPath(compiler)
  // The declarations of some peers have errors of their own.
  const options = { ...compilerOptions, skipLibCheck: packages.length > 0 }
  const tsconfig = JSON.stringify({ compilerOptions: options, files: Object.keys(files) })
  const project = await createConsumer(['@types/node', ...packages], { ...files, 'tsconfig.json': tsconfig })
  const compiling = promisify(execFile)(process.execPath, [tsc, '-p', project], { cwd: project })
  return compiling.then(
    ({ stdout }) => stdout,
    ({ stdout, stderr }) => `${stdout}${stderr}`,
  )
}
