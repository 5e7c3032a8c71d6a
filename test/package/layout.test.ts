import { readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'

const root = fileURLToPath(new URL('../../src/', import.meta.url))
const ruleFile = new URL('../../.dependency-cruiser.cjs', import.meta.url)

/** The tables of the rule file, whose format allows no members of our own. */
const [tables = ''] = readFileSync(ruleFile, 'utf8').split('/** Everything else speaks')
const { mayImport, mayImportTypes } = new Function(`${tables}; return { mayImport, mayImportTypes }`)() as Readonly<
  Record<'mayImport' | 'mayImportTypes', Readonly<Record<string, readonly string[]>>>
>

const entries = readdirSync(root)

describe('the layout of src/', () => {
  it('src/ has only folders', () => {
    expect(entries.filter((name) => !statSync(join(root, name)).isDirectory())).toEqual([])
  })

  it.each(entries)('%s/ has a README of at most 40 lines', (folder) => {
    const lines = readFileSync(join(root, folder, 'README.md'), 'utf8')
      .trimEnd()
      .split('\n')
    expect(lines.length).toBeLessThanOrEqual(40)
  })

  it('the import rules hold no permission that nothing uses', () => {
    const used = usedImports()
    const unused = [...Object.entries(mayImport), ...Object.entries(mayImportTypes)].flatMap(([folder, others]) =>
      others.filter((other) => !used.has(`${folder} ${other}`)).map((other) => `${folder} -> ${other}`),
    )
    expect(unused).toEqual([])
  })
})

describe('object literals', () => {
  const spreads = sourcesOf('src', 'console/src').flatMap(spreadsIn)

  it('no object literal spreads another object literal', () => {
    expect(spreads.filter(({ spread }) => ts.isObjectLiteralExpression(spread)).map(({ place }) => place)).toEqual([])
  })

  it('optional members are built with defined(), not with conditional spreads', () => {
    expect(spreads.filter(({ spread }) => isConditional(spread)).length).toBeLessThan(150)
  })
})

function sourcesOf(...folders: readonly string[]): readonly ts.SourceFile[] {
  return folders.flatMap((folder) => {
    const path = fileURLToPath(new URL(`../../${folder}/`, import.meta.url))
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.test)\.tsx?$/.test(file))
      .map((file) =>
        ts.createSourceFile(`${folder}/${file}`, readFileSync(join(path, file), 'utf8'), ts.ScriptTarget.Latest),
      )
  })
}

function spreadsIn(source: ts.SourceFile): readonly { readonly place: string; readonly spread: ts.Expression }[] {
  const found: { place: string; spread: ts.Expression }[] = []
  const visit = (node: ts.Node) => {
    if (ts.isSpreadAssignment(node)) {
      const { line } = source.getLineAndCharacterOfPosition(node.pos)
      found.push({ place: `${source.fileName}:${line + 1}`, spread: withoutParentheses(node.expression) })
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

function withoutParentheses(expression: ts.Expression): ts.Expression {
  return ts.isParenthesizedExpression(expression) ? withoutParentheses(expression.expression) : expression
}

/** Whether it is `condition && { members }`. */
function isConditional(spread: ts.Expression): boolean {
  return ts.isBinaryExpression(spread) && spread.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken
}

/** Pairs of folders, such as `core/http core/base`, of which the first imports the second. */
function usedImports(): ReadonlySet<string> {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (file) => file.endsWith('.ts') && !file.endsWith('.test.ts'),
  )
  return new Set(
    files.flatMap((file) => {
      const imports = readFileSync(join(root, file), 'utf8').matchAll(/(?:from|import\() ?'(\.[^']+)'/g)
      return Array.from(imports, ([, path = '']) => `${folderOf(file)} ${folderOf(join(dirname(file), path))}`)
    }),
  )
}

/** A folder of the rule file: of the core by two segments, otherwise by one. */
function folderOf(path: string): string {
  const [first = '', second] = relative(root, join(root, path)).split('/')
  return first === 'core' ? `core/${second}` : first
}
