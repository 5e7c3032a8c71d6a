import { readdirSync, readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { optionCases } from '../support/option-cases.ts'

const folder = resolve('src/entries')
const entries = readdirSync(folder)
  .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
  .toSorted()

/** Entries that must run where there is no Node: browsers, Workers, Deno without flags. */
const nodeFree = [
  'server.ts',
  'server.workerd.ts',
  'client.ts',
  'client-auth.ts',
  'client-compat.ts',
  'auth.ts',
  'cloudflare.ts',
  'hono.ts',
  'next.ts',
  'push.ts',
  'registry.ts',
  'mesh.ts',
]

describe('the public API', () => {
  it('the exported names of every entry are those in public-api.txt', async () => {
    const lines = exportedNames().map(({ entry, name, kind }) => `${entry}: ${name} (${kind})`)
    await expect(`${lines.toSorted().join('\n')}\n`).toMatchFileSnapshot('public-api.txt')
  })

  it('a name means the same in every entry', () => {
    expect(ambiguousNames()).toEqual({
      // The same function, with the guarded `fetch` of Node, and without the client in a Worker.
      agent: ['core/node/local-agent.node.ts', 'core/server/local-agent.ts', 'integrations/cloudflare/agent.ts'],
      connect: ['core/client/connect.ts', 'core/node/guarded-fetch/connect.ts'],
      // The same function, with a runtime for each request of a Worker.
      createHandler: ['core/server/handler.ts', 'integrations/cloudflare/handler.ts'],
      reachAgents: ['core/node/local-agent.node.ts', 'core/server/local-agent.ts'],
      // The same function, whose links send by `node:http`.
      createMeshPeer: ['mesh/peer.ts', 'serve/mesh-peer.ts'],
      // The same function, which reads the key of a server on this machine.
      createOperatorClient: ['operator/client.ts', 'serve/operator-client.ts'],
      // One for each framework, which makes a tool of that framework.
      asTool: ['adk', 'ai-sdk', 'langgraph', 'mastra', 'openai-agents', 'strands'].map(
        (name) => `integrations/agents/${name}.ts`,
      ),
      // The class that code for another loop expects.
      AgentLoop: ['loop/agent-loop.ts', 'loop/compat.ts'],
    })
  })

  it('every exported name has a doc comment', () => {
    const undocumented = exportedNames().filter(({ documented }) => !documented)
    expect([...new Set(undocumented.map(({ name, file }) => `${file}: ${name}`))]).toEqual([])
  })

  it('every exported function that takes options refuses unknown ones, as test/support/option-cases.ts lists them', () => {
    const withOptions = new Set(exportedNames().flatMap(({ name, takesOptions }) => (takesOptions ? [name] : [])))
    expect(Object.keys(optionCases).toSorted()).toEqual([...withOptions].toSorted())
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

interface ExportedName {
  readonly entry: string
  readonly name: string
  readonly kind: 'value' | 'type'
  /** The file with its declaration. */
  readonly file: string
  readonly documented: boolean
  /** Whether it is a function or a class, other than an error, with a parameter for options. */
  readonly takesOptions: boolean
}

let names: readonly ExportedName[] | undefined

/** The exported names of every entry. */
function exportedNames(): readonly ExportedName[] {
  names ??= readExportedNames()
  return names
}

function readExportedNames(): readonly ExportedName[] {
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
  return entries.flatMap((entry) => {
    const source = program.getSourceFile(resolve(folder, entry))
    const module = source && checker.getSymbolAtLocation(source)
    const symbols = module ? checker.getExportsOfModule(module) : []
    return symbols.map((symbol): ExportedName => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol
      const kind = (target.flags & ts.SymbolFlags.Value) !== 0 ? 'value' : 'type'
      const file = relative('src', target.declarations?.[0]?.getSourceFile().fileName ?? '')
      const documented = target.getDocumentationComment(checker).length > 0
      return { entry, name: symbol.name, kind, file, documented, takesOptions: takesOptions(target, checker) }
    })
  })
}

/** Options are a parameter of that name, or one whose type is named so, or an object that can be left out. */
function takesOptions(symbol: ts.Symbol, checker: ts.TypeChecker): boolean {
  const { valueDeclaration } = symbol
  if (!valueDeclaration) return false
  const type = checker.getTypeOfSymbol(symbol)
  const signatures = [...type.getCallSignatures(), ...type.getConstructSignatures()]
  return signatures.some((signature) => {
    if (checker.typeToString(signature.getReturnType()).match(/Error|Failed|Mismatch|Refus|Unavailable/)) return false
    return signature.parameters.some((parameter) => {
      const parameterType = checker.getTypeOfSymbol(parameter)
      const isOptionsType = /(Options|OAuthClient|AgentProfile)\b/.test(checker.typeToString(parameterType))
      const declaration = parameter.valueDeclaration
      const isPattern = declaration && ts.isParameter(declaration) && ts.isObjectBindingPattern(declaration.name)
      const canBeLeftOut = declaration && ts.isParameter(declaration) && declaration.initializer !== undefined
      return parameter.name === 'options' || isOptionsType || (isPattern && canBeLeftOut)
    })
  })
}

/** Names that are declared in several files, with these files. */
function ambiguousNames(): Readonly<Record<string, readonly string[]>> {
  const files = new Map<string, Set<string>>()
  for (const { name, file } of exportedNames()) files.set(name, (files.get(name) ?? new Set()).add(file))
  const ambiguous = [...files].filter(([, declaredIn]) => declaredIn.size > 1)
  return Object.fromEntries(ambiguous.map(([name, declaredIn]) => [name, [...declaredIn].toSorted()]))
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
