import { readdirSync, readFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const folder = resolve('src/entries')
const entries = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .toSorted()

/** Entries that must run where there is no Node: browsers, Workers, Deno without flags. */
const nodeFree = [
  'server.ts',
  'client.ts',
  'client-auth.ts',
  'client-compat.ts',
  'auth.ts',
  'hono.ts',
  'next.ts',
  'push.ts',
  'registry.ts',
  'mesh.ts',
]

describe('the public API', () => {
  it('the exported names of every entry are those in public-api.txt', async () => {
    await expect(listExports()).toMatchFileSnapshot('public-api.txt')
  })

  it('package.json exports one path per entry file', () => {
    const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, object> }
    const built = new Set(Object.values(exports).flatMap((targets) => Object.values(targets)))
    for (const file of entries) expect(built).toContain(`./dist/${file.replace(/\.ts$/, '.js')}`)
  })

  it.each(nodeFree)('%s reaches no module of Node', (entry) => {
    expect(nodeImportsOf(resolve(folder, entry))).toEqual([])
  })
})

/** One line per name: `entry: name (value|type)`. */
function listExports(): string {
  const config = ts.getParsedCommandLineOfConfigFile('tsconfig.json', { incremental: false }, {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic(diagnostic) {
      throw new Error(ts.flattenDiagnosticMessageText(diagnostic.messageText, '\n'))
    },
  } as ts.ParseConfigFileHost)
  const program = ts.createProgram(
    entries.map((file) => resolve(folder, file)),
    config?.options ?? {},
  )
  const checker = program.getTypeChecker()
  const lines = entries.flatMap((file) => {
    const source = program.getSourceFile(resolve(folder, file))
    const module = source && checker.getSymbolAtLocation(source)
    const symbols = module ? checker.getExportsOfModule(module) : []
    const isValue = (symbol: ts.Symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      return (target.flags & ts.SymbolFlags.Value) !== 0
    }
    return symbols.map((symbol) => `${file}: ${symbol.name} (${isValue(symbol) ? 'value' : 'type'})`).toSorted()
  })
  return `${lines.join('\n')}\n`
}

/** Imports of `node:*` that a file reaches, statically or by `import()`, as `file -> module`. */
function nodeImportsOf(entry: string): readonly string[] {
  const seen = new Set<string>()
  const reached: string[] = []
  const queue = [entry]
  for (let file = queue.pop(); file !== undefined; file = queue.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    for (const specifier of importsOf(file)) {
      if (specifier.startsWith('node:')) reached.push(`${file} -> ${specifier}`)
      else if (specifier.startsWith('.')) queue.push(resolve(dirname(file), specifier))
    }
  }
  return reached
}

const imports = new Map<string, readonly string[]>()

/** What a file imports at run time: types are erased. */
function importsOf(file: string): readonly string[] {
  const cached = imports.get(file)
  if (cached) return cached
  const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), {
    compilerOptions: { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2024, verbatimModuleSyntax: true },
  })
  const found = ts.preProcessFile(outputText, true, true).importedFiles.map(({ fileName }) => fileName)
  imports.set(file, found)
  return found
}
