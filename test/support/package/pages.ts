import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A program on a page, as a reader copies it. */
export interface Snippet {
  /** The file in which a reader saves it: named by a comment in its first line, otherwise by its number. */
  readonly file: string
  readonly language: 'ts' | 'tsx' | 'sh'
  readonly code: string
  /** The line of the page at which it begins. */
  readonly line: number
}

/** A page with its snippets, in order. */
export interface Page {
  /** Relative to the repository. */
  readonly path: string
  readonly snippets: readonly Snippet[]
}

/** All pages with TypeScript programs or commands. The generated references show fragments, which other tests check. */
export function pages(): readonly Page[] {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && !/^(?:decisions|reference\/api|\.vitepress)\//.test(file))
    .map((file) => join('docs', file))
  const skills = readdirSync(join(root, 'skills')).map((name) => `skills/${name}/SKILL.md`)
  return ['README.md', ...skills, ...docs.sort()].map(readPage).filter(({ snippets }) => snippets.length > 0)
}

function readPage(path: string): Page {
  const text = readFileSync(join(root, path), 'utf8')
  let number = 0
  const snippets = [...text.matchAll(/^```(ts|tsx|sh)\n(.*?)^```$/gms)].map(({ 1: language, 2: code = '', index }) => {
    number++
    const [, named] = /^\/\/ ([\w./-]+\.tsx?)\n/.exec(code) ?? []
    return {
      file: named ?? `snippet-${number}.${language}`,
      language: language as Snippet['language'],
      code,
      line: text.slice(0, index).split('\n').length,
    }
  })
  return { path, snippets }
}

/** The `@example` blocks of the sources as complete programs: with the imports that a reader adds, and their subjects. */
export function commentExamples(): readonly Page[] {
  return readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
    .sort()
    .map(readExamples)
    .filter(({ snippets }) => snippets.length > 0)
}

function readExamples(file: string): Page {
  const text = readFileSync(join(root, 'src', file), 'utf8')
  const examples = text.matchAll(/^[ ]*\* @example[ ]*(.*?)[ ]*\*\/$/gms)
  const snippets = [...examples].map(({ 1: block = '', index }, number): Snippet => {
    const example = block.trim().replace(/^[ ]*\* ?/gm, '')
    const code = `${contextOf(example, file)}\n${example}\n`
    return { file: `example-${number}.ts`, language: 'ts', code, line: text.slice(0, index).split('\n').length }
  })
  return { path: join('src', file.replace(/\.ts$/, '')), snippets }
}

/** Names that examples use without declaring them. */
const subjects: Readonly<Record<string, string>> = {
  assistant: 'any',
  bytes: 'Uint8Array',
  callerAuthority: 'string',
  cert: 'string',
  client: "import('parley-a2a/client').Client<{ order: { input: object; output: { total: number } } }>",
  contextId: 'string',
  createAssistant: '() => any',
  echo: "import('parley-a2a').Agent",
  graph: "import('parley-a2a/langgraph').LangGraphGraph",
  handler: "import('parley-a2a').Handler",
  id: 'string',
  key: 'string',
  lines: 'string[]',
  loop: "import('parley-a2a/loop').AgentLoop",
  message: "import('parley-a2a/client/compat').MessageSendParams['message'] & { parts: [] }",
  model: "import('@ai-sdk/provider').LanguageModelV4",
  parts: "import('parley-a2a').Part[]",
  planner: "import('parley-a2a').Agent",
  secret: 'string',
  send: '() => void',
  shop: '{ order(item: string): Promise<string> }',
  taskId: 'string',
  token: 'string',
  turn: "import('parley-a2a').Turn",
}

const applications: Readonly<Record<string, string>> = {
  'integrations/web/fastify.ts': "import('fastify').FastifyInstance",
  'integrations/web/hono.ts': "import('hono').Hono",
  'integrations/web/koa.ts': "import('koa')",
}

const packages: Readonly<Record<string, string>> = {
  Observable: "import { Observable } from 'rxjs'",
  Pool: "import { Pool } from 'pg'",
  createPool: "import { createPool } from 'mysql2/promise'",
  createServer: "import { createServer } from 'node:http'",
  mount: "import mount from 'koa-mount'",
  useChat: "import { useChat } from '@ai-sdk/react'",
  z: "import { z } from 'zod'",
}

function contextOf(example: string, file: string): string {
  const isFree = (name: string) =>
    new RegExp(`(?<![.\\w'-])${name}\\b(?!['-]|:)`).test(example) &&
    !new RegExp(`\\b(?:const|let) (?:\\{[^}]*)?\\b${name}\\b`).test(example)
  const types = { ...subjects, ...(applications[file] !== undefined && { app: applications[file] }) }
  return [
    ...Object.entries(packages).flatMap(([name, line]) => (isFree(name) ? [line] : [])),
    ...publicNames(file).flatMap(([name, entry]) => (isFree(name) ? [`import { ${name} } from '${entry}'`] : [])),
    ...Object.entries(types).flatMap(([name, type]) => (isFree(name) ? [`declare const ${name}: ${type}`] : [])),
    'export {}',
  ].join('\n')
}

/** The exported values, each with the first entry that has it. */
function publicNames(file: string): readonly (readonly [string, string])[] {
  const lines = readFileSync(join(root, 'test/package/public-api.txt'), 'utf8').matchAll(
    /^([\w.-]+)\.ts: (\w+) \(value\)$/gm,
  )
  const names = new Map<string, string>()
  for (const [, entry = '', name = ''] of lines) {
    const isOther = name === 'AgentLoop' && !file.endsWith('compat.ts')
    if (entry.endsWith('.node') || isOther) continue
    if (entry === 'index' || !names.has(name)) names.set(name, entry === 'index' ? 'parley-a2a' : entryOf(entry))
  }
  return [...names]
}

const entryOf = (file: string) =>
  `parley-a2a/${['ai-sdk', 'ag-ui', 'openai-agents'].includes(file) ? file : file.replace(/-(?!sdk)/, '/')}`
